import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { noContent } from '#shared/http/reply.ts'
import { SentToken } from '#shared/token/token.ts'
import { hashSentToken, tokenInvalid, tokenLimits } from './sent-token.ts'
import { consumeToken, findToken, verifyEmail as verify } from './token-queries.ts'

export const verifyEmail = endpoint({
  route: 'POST /v1/auth/verify',
  access: 'anyone',
  summary: 'Verify an email address with a mailed token',
  audit: { none: 'it concerns no tenant and changes no access' },
  body: v.object({ token: SentToken }),
  problems: ['token-invalid'],
  limits: tokenLimits,
  async handle({ body, sql, runtime }) {
    const hashes = hashSentToken(runtime, body.token)
    const token = await findToken(sql, hashes, 'email_verify')
    const userId = token?.user_id ?? null
    if (userId === null) throw tokenInvalid('no verification token')
    await runtime.database.transaction('read write', async (tx) => {
      if (await consumeToken(tx, hashes, 'email_verify')) await verify(tx, userId)
    })
    return noContent()
  },
})
