import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { SentToken } from '#shared/identity/token.ts'
import { Address } from '#shared/schema/email.ts'
import { hashSentToken, tokenInvalid, tokenLimits } from './sent-token.ts'
import { findReset } from './password-queries.ts'

export const inspectReset = endpoint({
  route: 'POST /v1/auth/password/inspect',
  access: 'anyone',
  summary: 'Read whose password a mailed token resets, without consuming it',
  audit: { none: 'it changes nothing' },
  body: v.object({ token: SentToken }),
  reply: v.object({ email: Address }),
  problems: ['token-invalid'],
  limits: tokenLimits,
  async handle({ body, sql, runtime }) {
    const reset = await findReset(sql, hashSentToken(runtime, body.token))
    if (reset === null || reset === 'consumed') throw tokenInvalid('no open reset token, or a disabled user')
    return ok({ email: reset.email })
  },
})
