import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { noContent } from '#shared/http/reply.ts'
import { hashNewPassword } from '#shared/password/new-password.ts'
import { SentNewPassword } from '#shared/password/password.ts'
import { enqueue } from '#shared/queue/queries.ts'
import { deviceOf } from '#shared/schema/device.ts'
import { SentToken } from '#shared/identity/token.ts'
import { accountLimit, emailLimitOf } from './login-limits.ts'
import { hashSentToken, tokenInvalid, tokenLimits } from './sent-token.ts'
import { findReset, resetPassword as setPassword } from './password-queries.ts'

export const resetPassword = endpoint({
  route: 'POST /v1/auth/password/reset',
  access: 'anyone',
  summary: 'Reset the password with a mailed token and end every session',
  revokes: true,
  needs: ['invoke:deliver-mail'],
  body: v.object({ token: SentToken, password: SentNewPassword }),
  problems: ['token-invalid', 'password-rejected'],
  limits: tokenLimits,
  async handle(context) {
    const { body, sql, runtime, client } = context
    const { config, limiter, pepper } = runtime
    const hashes = hashSentToken(runtime, body.token)
    const found = await findReset(sql, hashes)
    if (found === null) throw tokenInvalid('no reset token, or a disabled user')
    if (found === 'consumed') return noContent()
    const known = [found.email, found.full_name, ...found.tenantNames]
    const newHash = await hashNewPassword({ sent: body.password, pointer: '#/password', known }, config)
    await sql.write(async (tx) => {
      const reset = await setPassword(tx, context, { hashes, newHash })
      if (reset === null) throw tokenInvalid('the token expired, or the user was disabled')
      const device = deviceOf(client.userAgent)
      if (reset !== 'consumed')
        await enqueue(tx, 'mail', { template: 'password-changed', user_id: reset.userId, device })
    })
    // The link proved who the user is, so earlier failed sign-ins no longer count.
    await limiter.forgetWithParts(accountLimit({ email: found.email, config, pepper }), emailLimitOf(config))
    return noContent()
  },
})
