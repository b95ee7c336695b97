import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { newNonce } from '#shared/identity/token.ts'
import { Email, normalizeEmail } from '#shared/schema/email.ts'
import { requestMail } from './request-mail.ts'

// The mailer looks up whether the user exists, so that neither the response nor its time can depend on it.
export const forgotPassword = endpoint({
  route: 'POST /v1/auth/password/forgot',
  access: 'anyone',
  summary: 'Send a password reset link if the address has an account',
  needs: ['database', 'pepper', 'cache', 'invoke:deliver-mail'],
  audit: { none: 'it changes nothing, and must not reveal whether the user exists' },
  body: v.object({ email: v.pipe(v.string(), v.examples(['ann@acme.example'])) }),
  handle: (context) => {
    const { email } = context.body
    const parsed = v.safeParse(Email, email)
    const wanted = parsed.success
    const recipient = wanted ? parsed.output : email
    return requestMail(context, {
      route: 'forgot',
      recipient: normalizeEmail(recipient),
      payload: { template: 'password-reset', email: wanted ? recipient : 'nobody', nonce: newNonce() },
      wanted,
      write: (work) => work(context.sql),
    })
  },
})
