import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { noContent } from '#shared/http/reply.ts'
import { SentToken } from '#shared/identity/token.ts'
import { hashSentToken, tokenInvalid, tokenLimits } from './sent-token.ts'
import { verifyEmail as verify } from './token-queries.ts'

export const verifyEmail = endpoint({
  route: 'POST /v1/auth/verify',
  access: 'anyone',
  summary: 'Verify an email address with a mailed token',
  audit: { none: 'it concerns no tenant and changes no access' },
  body: v.object({ token: SentToken }),
  problems: ['token-invalid'],
  limits: tokenLimits,
  async handle({ body, sql, runtime }) {
    if (!(await verify(sql, hashSentToken(runtime, body.token)))) throw tokenInvalid('no verification token')
    return noContent()
  },
})
