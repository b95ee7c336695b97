import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { noContent } from '#shared/http/reply.ts'
import { hashNewPassword } from '#shared/password/new-password.ts'
import { SentNewPassword } from '#shared/password/password.ts'
import { enqueue } from '#shared/queue/queries.ts'
import { SentToken } from '#shared/token/token.ts'
import { accountLimit, emailLimitOf } from './login-limits.ts'
import { hashSentToken, tokenInvalid, tokenLimits } from './sent-token.ts'
import { findTenantNames, recordPasswordReset, resetPassword as setPassword } from './password-queries.ts'
import { consumeToken, findUserContact, findToken, lockUser } from './token-queries.ts'

export const resetPassword = endpoint({
  route: 'POST /v1/auth/password/reset',
  access: 'anyone',
  summary: 'Reset the password with a mailed token and end every session',
  needs: ['invoke:deliver-mail'],
  body: v.object({ token: SentToken, password: SentNewPassword }),
  problems: ['token-invalid', 'password-rejected'],
  limits: tokenLimits,
  async handle(context) {
    const { body, sql, runtime } = context
    const { config, database, limiter, pepper } = runtime
    const hashes = hashSentToken(runtime, body.token)
    const token = await findToken(sql, hashes, 'password_reset')
    if (token === null || token.user_id === null) throw tokenInvalid('no reset token')
    if (token.consumed) return noContent()
    const user = await findUserContact(sql, { id: token.user_id })
    if (user === null || user.disabled_at !== null) throw tokenInvalid('the user is disabled')
    const known = [user.email, user.full_name, ...(await findTenantNames(sql, hashes))]
    const passwordHash = await hashNewPassword({ sent: body.password, pointer: '#/password', known }, config)
    await database.transaction('read write', async (tx) => {
      await lockUser(tx, user.id)
      if (!(await consumeToken(tx, hashes, 'password_reset'))) return
      if (!(await setPassword(tx, user.id, passwordHash))) throw tokenInvalid('the user is disabled')
      await recordPasswordReset(tx, context, hashes)
      await enqueue(tx, 'mail', { template: 'password-changed', user_id: user.id })
    })
    // The link proved who the user is, so earlier failed sign-ins no longer count.
    await limiter.forgetWithParts(accountLimit({ email: user.email, config, pepper }), emailLimitOf(config))
    return noContent()
  },
})
