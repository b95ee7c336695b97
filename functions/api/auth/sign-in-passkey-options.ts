import * as v from 'valibot'
import { notFound } from '#shared/base/problem.ts'
import { newChallenge } from '#shared/factor/challenge.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { isToken } from '#shared/identity/token.ts'
import { tokenHashes } from '#shared/secret/secret.ts'
import { SignInToken } from './factor.ts'
import { signInExpired } from './finish-sign-in.ts'
import { RequestOptions, requestOptions } from './passkey-options.ts'
import { passkeysOfSignIn } from './passkey-queries.ts'
import { passkeyParty } from './proven-passkey.ts'

export const signInPasskeyOptions = endpoint({
  route: 'POST /v1/auth/login/passkey-options',
  access: { anyone: true, transactions: 'by call' },
  summary: 'Read what a browser needs to sign in with a passkey',
  description:
    'Needs no session. Without `sign_in_token` the options are for a passkey alone, and name none. With it they are for the second ' +
    'factor of the open sign-in, and name the passkeys of its user; 404 without one. 404 where the front end has an IP address.',
  audit: { none: 'it changes nothing' },
  needs: ['database', 'pepper'],
  body: v.object({ sign_in_token: v.optional(SignInToken) }),
  reply: RequestOptions,
  problems: [404, 'sign-in-expired'],
  async handle({ body: { sign_in_token: subject }, call, runtime }) {
    const { rpId } = passkeyParty(runtime)
    if (subject === undefined) return ok(requestOptions(newChallenge(runtime.pepper, { purpose: 'sign-in' }), rpId, []))
    if (!isToken(subject)) throw signInExpired()
    const passkeys = await passkeysOfSignIn(call, tokenHashes(runtime, subject), rpId)
    if (passkeys.length === 0) throw signInExpired()
    if (passkeys[0]?.credential_id === null) throw notFound('the user has no passkey for this RP ID')
    return ok(requestOptions(newChallenge(runtime.pepper, { purpose: 'second-factor', subject }), rpId, passkeys))
  },
})
