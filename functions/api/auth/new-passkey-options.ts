import { Problem } from '#shared/base/problem.ts'
import { newChallenge } from '#shared/factor/challenge.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { CreationOptions, creationOptions } from './passkey-options.ts'
import { ownPasskeys } from './passkey-queries.ts'
import { passkeyParty, userHandleOf } from './proven-passkey.ts'

/** app.add_passkey has the same limit. */
const MAX_PASSKEYS = 10

export const newPasskeyOptions = endpoint({
  route: 'POST /v1/auth/factors/passkey-options',
  access: { session: true, transactions: 'by call', stepUp: 'again' },
  summary: 'Read what a browser needs to make a passkey',
  description: '404 where the front end has an IP address.',
  audit: { none: 'it changes nothing' },
  reply: CreationOptions,
  problems: [404, 'factor-limit'],
  async handle({ call, principal, runtime }) {
    const { rpId } = passkeyParty(runtime)
    const { session, ticket, user } = principal
    const { passkeys, count } = await ownPasskeys(call, ticket, {
      rpId,
      stepUpSeconds: runtime.config.factor.stepUpSeconds,
    })
    if (count >= MAX_PASSKEYS) throw new Problem('factor-limit')
    const challenge = newChallenge(runtime.pepper, { purpose: 'registration', subject: session.id })
    const rp = { id: rpId, name: runtime.config.platform.name }
    const owner = { handle: userHandleOf(user.id), email: user.email, fullName: user.full_name }
    return ok(creationOptions(challenge, rp, owner, passkeys))
  },
})
