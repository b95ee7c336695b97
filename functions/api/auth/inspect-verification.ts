import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { hashSentToken, inspection, tokenInvalid } from './sent-token.ts'
import { findVerification } from './token-queries.ts'

export const inspectVerification = endpoint({
  ...inspection,
  route: 'POST /v1/auth/verify/inspect',
  summary: 'Read which email address a mailed token verifies, without consuming it',
  async handle({ body, sql, runtime }) {
    const email = await findVerification(sql, hashSentToken(runtime, body.token))
    if (email === null) throw tokenInvalid('no open verification token')
    return ok({ email })
  },
})
