import * as v from 'valibot'
import { notFound } from '#shared/base/problem.ts'
import { newChallenge } from '#shared/factor/challenge.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { FactorMethods } from './factor.ts'
import { RequestOptions, requestOptions } from './passkey-options.ts'
import { ownPasskeys } from './passkey-queries.ts'
import { passkeyParty } from './proven-passkey.ts'

export const stepUpPasskeyOptions = endpoint({
  route: 'POST /v1/auth/step-up/passkey-options',
  access: { session: true, transactions: 'by call' },
  summary: 'Read what a browser needs to step up with a passkey',
  description:
    'It names the passkeys of the user, and by what else they may step up. 404 without a passkey, and where the front end has an IP address.',
  audit: { none: 'it changes nothing' },
  reply: v.object({ ...RequestOptions.entries, methods: FactorMethods }),
  problems: [404],
  async handle({ call, principal, runtime }) {
    const { rpId } = passkeyParty(runtime)
    const { passkeys, methods } = await ownPasskeys(call, principal.ticket, { rpId, stepUpSeconds: null })
    if (passkeys.length === 0) throw notFound('the user has no passkey for this RP ID')
    const challenge = newChallenge(runtime.pepper, { purpose: 'step-up', subject: principal.session.id })
    return ok({ ...requestOptions(challenge, rpId, passkeys), methods })
  },
})
