import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createUser, tenantId } from '#tests/support/minted-session.ts'
import { ticketFor } from '#tests/support/proof.ts'
import { useService } from '#tests/support/test.ts'

// What SQL injected as a role that may add a mail does with the nonce of the mail, from which its link is derived.

const service = useService({ env: { FORGOT_EMAIL_LIMIT: '100' } })

const PAYLOADS = {
  'password-reset': ({ email }: { email: string }) => ({ template: 'password-reset', email }),
  'email-verification': ({ id }: { id: string }) => ({ template: 'email-verification', user_id: id }),
} as const
type Template = keyof typeof PAYLOADS

async function newUser(): Promise<{ id: string; email: string }> {
  const email = `link${randomUUID()}@links.test`
  const id = await createUser(service.sql, { email })
  await service.sql`update app.users set email_verified_at = null where id = ${id}`
  return { id, email }
}

describe.each(['auth', 'app', 'operator'] as const)('SQL injected as identity_%s', (role) => {
  const connect = () => {
    const sql = postgres(service.database.urls[role], { max: 1, onnotice: () => {} })
    onTestFinished(() => sql.end())
    return sql
  }
  const NONCE = 'chosen'.repeat(4)

  it.each(Object.keys(PAYLOADS) as Template[])(
    'gets no link of another user by the nonce of its own mail, also after that token is deleted: %s',
    async (template) => {
      const sql = connect()
      const [mine, victim] = [await newUser(), await newUser()]
      const linkOf = async (user: typeof mine) => {
        const payload = { ...PAYLOADS[template](user), nonce: NONCE }
        await sql`select app.enqueue('mail', ${JSON.stringify(payload)}::text::jsonb)`
        return service.mail.tokenFor(user.email)
      }
      const known = await linkOf(mine)
      // The job `maintain` deletes an expired token.
      await service.sql`delete from app.tokens where user_id = ${mine.id}`
      const sent = await linkOf(victim)
      expect(sent).not.toBe(known)
      const use = (token: string) =>
        template === 'password-reset'
          ? service.request('POST /v1/auth/password/reset', { body: { token, password: `${token} of links` } })
          : service.request('POST /v1/auth/verify', { body: { token } })
      expect((await use(known)).status).toBe(400)
      expect((await use(sent)).status).toBe(204)
      // Nor of one user by an earlier mail to the same one.
      await service.sql`delete from app.tokens where user_id = ${victim.id}`
      await service.sql`update app.users set email_verified_at = null where id = ${victim.id}`
      // The mail that says that the password was changed has no link.
      await service.mail.deliver()
      expect(await linkOf(victim)).not.toBe(sent)
    },
  )

  it.skipIf(role === 'auth').each(Object.keys(PAYLOADS) as Template[])(
    'sends nobody a link by the job of a tenant: %s',
    async (template) => {
      const sql = connect()
      const user = await newUser()
      const ticket = await ticketFor(service.sql, await tenantId(service.sql, 'acme-print'))
      await sql.begin(async (tx) => {
        await tx`select app.enter_to_write(${ticket}, null, false)`
        const payload = { ...PAYLOADS[template](user), nonce: randomUUID() }
        await tx`select app.enqueue('mail', ${JSON.stringify(payload)}::text::jsonb)`
      })
      expect(await service.mail.deliver()).toBe(0)
      expect(service.mail.to(user.email)).toEqual([])
      expect(await service.sql`select from app.tokens where user_id = ${user.id}`).toHaveLength(0)
    },
  )
})
