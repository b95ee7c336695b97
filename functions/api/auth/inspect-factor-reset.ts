import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { hashSentToken, inspection, tokenInvalid } from './sent-token.ts'
import { findResetCancellation } from './token-queries.ts'

export const inspectFactorReset = endpoint({
  ...inspection,
  route: 'POST /v1/auth/factor-resets/inspect',
  summary: 'Read whose reset of a second factor a mailed token cancels, without consuming it',
  async handle({ body, sql, runtime }) {
    const email = await findResetCancellation(sql, hashSentToken(runtime, body.token))
    if (email === null) throw tokenInvalid('no token of an open reset')
    return ok({ email })
  },
})
