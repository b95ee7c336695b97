import { endpoint } from '#shared/http/endpoint.ts'
import { newNonce } from '#shared/identity/token.ts'
import { requestMail } from './request-mail.ts'

export const resendVerification = endpoint({
  route: 'POST /v1/auth/verify/resend',
  access: { session: true, transactions: 'by handle' },
  summary: 'Resend the link that verifies the address',
  needs: ['cache', 'invoke:deliver-mail'],
  audit: { none: 'it sends a mail and changes nothing' },
  handle: (context) => {
    const { id, email_verified_at: verifiedAt } = context.principal.user
    return requestMail(context, {
      route: 'verify',
      recipient: id,
      payload: { template: 'email-verification', user_id: id, nonce: newNonce() },
      wanted: verifiedAt === null,
      write: (work) => context.sql.write(work),
    })
  },
})
