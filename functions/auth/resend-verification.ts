import { endpoint } from '#shared/http/endpoint.ts'
import { noContent } from '#shared/http/reply.ts'
import { enqueue } from '#shared/queue/queries.ts'
import { clientNetwork } from '#shared/rate-limit/limit.ts'
import { keyedHash } from '#shared/secret/secret.ts'
import { newNonce } from '#shared/token/token.ts'

export const resendVerification = endpoint({
  route: 'POST /v1/auth/verify/resend',
  access: 'session',
  async handle({ caller, client, sql, runtime: { config, pepper, limiter } }) {
    const refusal = await limiter.attempt([
      {
        name: 'verify-email',
        subject: keyedHash(pepper, 'verify-email', caller.user.id),
        limit: config.forgot.emailLimit,
        windowSeconds: 3600,
      },
      {
        name: 'verify-ip',
        subject: keyedHash(pepper, 'verify-ip', clientNetwork(client.ip)),
        limit: config.forgot.ipLimit,
        windowSeconds: 3600,
      },
    ])
    if (refusal !== null || caller.user.email_verified_at !== null) return noContent()
    await enqueue(sql, 'mail', { template: 'email-verification', user_id: caller.user.id, nonce: newNonce() })
    return noContent({ wakes: 'deliver-mail' })
  },
})
