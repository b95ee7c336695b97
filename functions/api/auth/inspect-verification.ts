import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { SentToken } from '#shared/identity/token.ts'
import { Address } from '#shared/schema/email.ts'
import { hashSentToken, tokenInvalid, tokenLimits } from './sent-token.ts'
import { findVerification } from './token-queries.ts'

export const inspectVerification = endpoint({
  route: 'POST /v1/auth/verify/inspect',
  access: 'anyone',
  summary: 'Read which email address a mailed token verifies, without consuming it',
  audit: { none: 'it changes nothing' },
  body: v.object({ token: SentToken }),
  reply: v.object({ email: Address }),
  problems: ['token-invalid'],
  limits: tokenLimits,
  async handle({ body, sql, runtime }) {
    const email = await findVerification(sql, hashSentToken(runtime, body.token))
    if (email === null) throw tokenInvalid('no open verification token')
    return ok({ email })
  },
})
