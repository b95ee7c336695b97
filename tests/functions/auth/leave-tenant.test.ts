import { describe, expect, it } from 'vitest'
import { expectProblem } from '#tests/support/expect-answer.ts'
import { createTenant, mintSession } from '#tests/support/minted-session.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()
const leave = (tenant: string, token: string) => service.request(`DELETE /v1/auth/tenants/${tenant}`, { token })
const statusOf = async (token: string): Promise<number> =>
  (await service.request('GET /v1/auth/session', { token })).status

describe('DELETE /v1/auth/tenants/{id}', () => {
  it.each(['owner', 'admin', 'account', 'viewer'] as const)(
    'lets a member of the role %s leave, ends their sessions in this tenant alone, and records it',
    async (role) => {
      const tenant = await service.newTenant(role)
      const { id, slug } = tenant
      const member = tenant[role]
      const email = `${role}@${slug}.test`
      const elsewhere = await createTenant(service.sql, `${slug}-other`)
      await service.sql`
        insert into app.memberships (tenant_id, user_id, role_id, accepted_at) values (${elsewhere}, ${member.userId}, 7, now())`
      const second = await mintSession(service.sql, { email, slug })
      const there = await mintSession(service.sql, { email, slug: `${slug}-other` })
      const pending = await mintSession(service.sql, { email })
      const answer = await leave(id, member.token)
      expect(answer.status).toBe(204)
      expect(await Promise.all([member, second, there, pending].map(({ token }) => statusOf(token)))).toEqual([
        401, 401, 200, 200,
      ])
      const entries = await service.sql`
        select a.action, a.actor_user_id, a.before, a.after, e.target_user_id
          from app.audit_log a join app.events e using (tenant_id, id)
         where a.tenant_id = ${id} and a.target_id = ${member.membershipId}`
      expect([...entries]).toEqual([
        {
          action: 'membership.revoked',
          actor_user_id: member.userId,
          before: { role },
          after: { left: true },
          target_user_id: member.userId,
        },
      ])
      expect((await leave(id, pending.token)).status).toBe(404)
    },
  )

  it('keeps the last owner who can sign in, and every session of theirs', async () => {
    const { id, slug, owner } = await service.newTenant('owner')
    await service.sql`update app.users set disabled_at = now() where email = ${`founder@${slug}.test`}`
    expectProblem(await leave(id, owner.token), 'last-owner')
    expect(await statusOf(owner.token)).toBe(200)
    expect(await service.sql`select from app.audit_log where tenant_id = ${id}`).toHaveLength(0)
    await service.sql`update app.users set disabled_at = null where email = ${`founder@${slug}.test`}`
    expect((await leave(id, owner.token)).status).toBe(204)
  })

  it('mails each owner who stays, once, in their language, whichever way somebody leaves', async () => {
    const { id, slug, owner, admin, viewer } = await service.newTenant('owner', 'admin', 'viewer')
    const address = (who: string) => `${who}@${slug}.test`
    await service.sql`update app.users set language = 'es' where email = ${address('founder')}`
    const mails = async (who: string) => {
      await service.mail.deliver()
      return service.mail.to(address(who)).map(({ subject, text }) => ({ subject, text }))
    }
    expect((await leave(id, viewer.token)).status).toBe(204)
    const [english, ...none] = await mails('owner')
    expect([english?.subject, none]).toEqual([`${address('viewer')} left Shop ${slug} (${slug})`, []])
    expect(english?.text).toContain('The role was: Viewer.')
    expect((await service.request(`DELETE /v1/members/${admin.membershipId}`, { token: admin.token })).status).toBe(200)
    expect(await mails('owner')).toHaveLength(2)
    expect((await leave(id, owner.token)).status).toBe(204)
    expect((await mails('founder')).map(({ subject }) => subject).toSorted()).toEqual(
      ['admin', 'owner', 'viewer'].map((who) => `${address(who)} dejó Shop ${slug} (${slug})`),
    )
    expect(await mails('owner')).toHaveLength(2)
    expect([await mails('viewer'), await mails('admin')]).toEqual([[], []])
  })

  it('mails nobody when the person stays', async () => {
    const { id, slug, owner } = await service.newTenant('owner')
    await service.sql`update app.users set disabled_at = now() where email = ${`founder@${slug}.test`}`
    expectProblem(await leave(id, owner.token), 'last-owner')
    expect(
      await service.sql`select from app.jobs where payload::text like '%' || ${owner.membershipId}::text || '%'`,
    ).toHaveLength(0)
  })

  it('lets a person leave a suspended tenant, and nobody a tenant that they are not in', async () => {
    const { id, slug, sales } = await service.newTenant('sales')
    const other = await service.newTenant('viewer')
    expect((await leave(other.id, sales.token)).status).toBe(404)
    expect(await statusOf(other.viewer.token)).toBe(200)
    await service.sql`update app.tenants set status = 'suspended' where id = ${id}`
    const { token } = await mintSession(service.sql, { email: `sales@${slug}.test` })
    expect((await leave(id, token)).status).toBe(204)
    await service.sql`update app.tenants set status = 'active' where id = ${id}`
    expect((await service.request('GET /v1/auth/tenants', { token })).body.data).toEqual([])
  })
})
