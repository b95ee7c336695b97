import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { noContent } from '#shared/http/reply.ts'
import { enqueue } from '#shared/queue/queries.ts'
import { clientNetwork } from '#shared/rate-limit/limit.ts'
import { keyedHash } from '#shared/secret/secret.ts'
import { newNonce } from '#shared/token/token.ts'
import { Email, emailKey } from '#shared/user/user.ts'

// Whether there is such an account is looked up by the worker, so that the answer does not depend on it in any way.
export const forgotPassword = endpoint({
  route: 'POST /v1/auth/password/forgot',
  access: 'anyone',
  body: v.object({ email: v.string('must be a string') }),
  async handle({ body, client, sql, runtime: { config, pepper, limiter } }) {
    const refusal = await limiter.attempt([
      {
        name: 'forgot-email',
        subject: keyedHash(pepper, 'forgot-email', emailKey(body.email)),
        limit: config.forgot.emailLimit,
        windowSeconds: 3600,
      },
      {
        name: 'forgot-ip',
        subject: keyedHash(pepper, 'forgot-ip', clientNetwork(client.ip)),
        limit: config.forgot.ipLimit,
        windowSeconds: 3600,
      },
    ])
    if (refusal !== null || !v.is(Email, body.email)) return noContent()
    await enqueue(sql, 'mail', { template: 'password-reset', email: body.email, nonce: newNonce() })
    return noContent({ wakes: 'deliver-mail' })
  },
})
