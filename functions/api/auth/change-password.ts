import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { invalid, unauthorized } from '#shared/base/problem.ts'
import { deviceOf } from '#shared/schema/device.ts'
import { noContent } from '#shared/http/reply.ts'
import { digestPassword } from '#shared/password/argon2.ts'
import { hashNewPassword } from '#shared/password/new-password.ts'
import { normalize, SentNewPassword, SentPassword } from '#shared/password/password.ts'
import { enqueue } from '#shared/queue/queries.ts'
import { ownPasswordLimit } from './login-limits.ts'
import { changePassword as change, findSalt, isOwnPassword } from './password-queries.ts'
import { listTenants } from './session-queries.ts'

export const changePassword = endpoint({
  route: 'POST /v1/auth/password/change',
  access: { session: true, transactions: 'by handle', stepUp: 'two-factor' },
  summary: 'Change the password and end the other sessions',
  description: 'Only a session with a second factor needs a step-up: otherwise the current password is the proof.',
  revokes: true,
  needs: ['invoke:deliver-mail'],
  body: v.object({ current_password: SentPassword, new_password: SentNewPassword }),
  problems: ['password-rejected'],
  limits: (input) => [ownPasswordLimit(input)],
  async handle(context) {
    const { body, principal, sql, runtime, client } = context
    const { config } = runtime
    const { ticket, user } = principal
    const { found, tenants } = await sql.read(async (tx) => ({
      found: await findSalt(tx, user.email),
      tenants: await listTenants(tx, ticket),
    }))
    const digest = await digestPassword(normalize(body.current_password), found.salt, found.costs)
    if (!(await sql.read((tx) => isOwnPassword(tx, ticket, digest)))) {
      throw invalid([{ pointer: '#/current_password', code: 'wrong-password' }])
    }
    const known = [user.email, user.full_name, ...tenants.flatMap(({ slug, legal_name }) => [slug, legal_name])]
    const newHash = await hashNewPassword({ sent: body.new_password, pointer: '#/new_password', known }, config)
    await sql.write(async (tx) => {
      const changed = await change(tx, context, { ticket, digest, newHash, stepUpSeconds: config.factor.stepUpSeconds })
      if (!changed) throw unauthorized('the password changed during the request', true)
      await enqueue(tx, 'mail', { template: 'password-changed', user_id: user.id, device: deviceOf(client.userAgent) })
    })
    return noContent()
  },
})
