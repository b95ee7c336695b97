import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { invalid, unauthorized } from '#shared/problem.ts'
import { noContent } from '#shared/http/reply.ts'
import { verifyPassword } from '#shared/password/argon2.ts'
import { hashNewPassword } from '#shared/password/new-password.ts'
import { normalize, SentNewPassword, SentPassword } from '#shared/password/password.ts'
import { enqueue } from '#shared/queue/queries.ts'
import { keyedHash } from '#shared/secret/secret.ts'
import { findUserCredentials, recordPasswordChange, replacePassword } from './password-queries.ts'
import { listTenants } from './session-queries.ts'

export const changePassword = endpoint({
  route: 'POST /v1/auth/password/change',
  access: { session: true, transaction: 'own' },
  summary: 'Change the password and end the other sessions',
  needs: ['invoke:deliver-mail'],
  body: v.object({ current_password: SentPassword, new_password: SentNewPassword }),
  problems: ['password-rejected'],
  limits: ({ principal, config, pepper }) => [
    {
      name: 'password-change',
      subject: keyedHash(pepper, 'password-change', principal?.user.id ?? ''),
      limit: config.login.emailLimit,
      windowSeconds: config.login.windowSeconds,
    },
  ],
  async handle(context) {
    const { body, principal, sql, runtime } = context
    const { config } = runtime
    const { ticket, user } = principal
    const { credentials, tenants } = await sql.read(async (tx) => ({
      credentials: await findUserCredentials(tx, user.email),
      tenants: await listTenants(tx, ticket),
    }))
    const verifiedHash = credentials?.password_hash ?? null
    const verified = await verifyPassword(normalize(body.current_password), verifiedHash, config.argon2)
    if (verifiedHash === null || !verified) {
      throw invalid([{ pointer: '#/current_password', detail: 'is not the current password' }])
    }
    const known = [user.email, user.full_name, ...tenants.flatMap(({ slug, legal_name }) => [slug, legal_name])]
    const newHash = await hashNewPassword({ sent: body.new_password, pointer: '#/new_password', known }, config)
    await sql.write(async (tx) => {
      const replaced = await replacePassword(tx, { userId: user.id, verifiedHash, newHash })
      if (!replaced) throw unauthorized('the password changed during the request', true)
      await recordPasswordChange(tx, context)
      await enqueue(tx, 'mail', { template: 'password-changed', user_id: user.id })
    })
    return noContent()
  },
})
