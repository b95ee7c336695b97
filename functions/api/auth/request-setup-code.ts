import { endpoint } from '#shared/http/endpoint.ts'
import { rateLimited } from '#shared/http/rate-limited.ts'
import { noContent } from '#shared/http/reply.ts'
import { newNonce } from '#shared/identity/token.ts'
import { requestSetupCode as request } from './factor-queries.ts'

export const requestSetupCode = endpoint({
  route: 'POST /v1/auth/factors/setup-code',
  access: { session: true, transactions: 'by call', stepUp: 'again' },
  summary: 'Mail the code that the first factor needs',
  description: 'Sends nothing to a user who has a second factor.',
  needs: ['invoke:deliver-mail'],
  audit: { none: 'it sends a mail and changes nothing' },
  problems: ['rate-limited'],
  async handle({ call, principal, runtime }) {
    const { factor, forgot } = runtime.config
    const wait = await request(call, principal.ticket, {
      nonce: newNonce(),
      limit: forgot.emailLimit,
      stepUpSeconds: factor.stepUpSeconds,
    })
    const limit = { name: 'factor-setup-mail', limit: forgot.emailLimit, windowSeconds: 3600 }
    if (wait !== null) throw rateLimited({ limit, retryAfterSeconds: wait })
    await call.invoke('deliver-mail')
    return noContent()
  },
})
