import { endpoint } from '#shared/http/endpoint.ts'
import { newNonce } from '#shared/token/token.ts'
import { requestMail } from './request-mail.ts'

export const resendVerification = endpoint({
  route: 'POST /v1/auth/verify/resend',
  access: 'session',
  summary: 'Send the link that verifies the address again',
  handle: (exchange) => {
    const { id, email_verified_at: verifiedAt } = exchange.caller.user
    const payload = verifiedAt === null ? { template: 'email-verification', user_id: id, nonce: newNonce() } : null
    return requestMail(exchange, { route: 'verify', recipient: id, payload })
  },
})
