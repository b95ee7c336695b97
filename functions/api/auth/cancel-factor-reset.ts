import * as v from 'valibot'
import { requestSource } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { noContent } from '#shared/http/reply.ts'
import { SentToken } from '#shared/identity/token.ts'
import { hashSentToken, tokenInvalid, tokenLimits } from './sent-token.ts'
import { cancelReset } from './token-queries.ts'

export const cancelFactorReset = endpoint({
  route: 'POST /v1/auth/factor-resets/cancel',
  access: 'anyone',
  summary: 'Cancel the reset of a second factor with a mailed token',
  body: v.object({ token: SentToken }),
  problems: ['token-invalid'],
  limits: tokenLimits,
  async handle(context) {
    const { body, sql, runtime } = context
    if (!(await cancelReset(sql, hashSentToken(runtime, body.token), requestSource(context))))
      throw tokenInvalid('no token of an open reset')
    return noContent()
  },
})
