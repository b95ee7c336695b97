import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { unauthorized } from '#shared/base/problem.ts'
import { newRecoveryCodes } from '#shared/factor/code.ts'
import { newTotpSecret } from '#shared/factor/totp.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { describeDraft, Draft, sealDraft } from './draft.ts'
import { makeDraft as make, ownFactors } from './factor-queries.ts'

export const makeDraft = endpoint({
  route: 'POST /v1/auth/factors/draft',
  access: { session: true, transactions: 'by call', stepUp: 'again' },
  summary: 'Make what an authenticator app is set up with, and recovery codes',
  description:
    'It replaces an earlier draft and changes no factor. A user who has recovery codes gets new ones only with `renew_codes`.',
  needs: ['factor-key'],
  audit: { none: 'a draft is no factor' },
  body: v.object({ renew_codes: v.optional(v.pipe(v.boolean(), v.examples([true]))) }),
  reply: Draft,
  async handle(context) {
    const { body, call, principal, runtime } = context
    const [factor] = await ownFactors(call, principal.ticket, undefined)
    if (factor === undefined) throw unauthorized('the session ended during the request', true)
    const keepsCodes = factor.codes_left > 0 && body.renew_codes !== true
    const contents = { secret: newTotpSecret(), codes: keepsCodes ? null : newRecoveryCodes() }
    const id = randomUUID()
    const { stepUpSeconds } = runtime.config.factor
    const expiresAt = await make(call, principal.ticket, {
      id,
      sealed: sealDraft(context, id, contents),
      stepUpSeconds,
    })
    return ok(describeDraft(context, contents, expiresAt))
  },
})
