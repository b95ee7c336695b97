import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { hashSentToken, inspection, tokenInvalid } from './sent-token.ts'
import { findReset } from './password-queries.ts'

export const inspectReset = endpoint({
  ...inspection,
  route: 'POST /v1/auth/password/inspect',
  summary: 'Read whose password a mailed token resets, without consuming it',
  async handle({ body, sql, runtime }) {
    const reset = await findReset(sql, hashSentToken(runtime, body.token))
    if (reset === null || reset === 'consumed') throw tokenInvalid('no open reset token, or a disabled user')
    return ok({ email: reset.email })
  },
})
