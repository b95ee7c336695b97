import { expect, it } from 'vitest'
import { createTenant, mintSession } from '#tests/support/minted-session.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()
const statusOf = async ({ token }: { token: string }): Promise<number> =>
  (await service.request('GET /v1/auth/session', { token })).status

it('ends the sessions of a member in the tenant alone, keeps them a member, and records it once', async () => {
  const { id, slug, admin, sales } = await service.newTenant('owner', 'admin', 'sales')
  const email = `sales@${slug}.test`
  const other = await createTenant(service.sql, `${slug}-other`)
  await service.sql`
    insert into app.memberships (tenant_id, user_id, role_id, accepted_at) values (${other}, ${sales.userId}, 7, now())`
  const second = await mintSession(service.sql, { email, slug })
  const elsewhere = await mintSession(service.sql, { email, slug: `${slug}-other` })
  const end = () => service.request(`DELETE /v1/members/${sales.membershipId}/sessions`, { token: admin.token })
  const answer = await end()
  expect([answer.status, answer.body.id, answer.body.revoked_at]).toEqual([200, sales.membershipId, null])
  expect(await Promise.all([sales, second, elsewhere, admin].map(statusOf))).toEqual([401, 401, 200, 200])
  expect((await end()).status).toBe(200)
  const entries = await service.sql`
    select action, target_id, actor_user_id from app.audit_log where tenant_id = ${id}`
  expect([...entries]).toEqual([
    { action: 'membership.sessions_ended', target_id: sales.membershipId, actor_user_id: admin.userId },
  ])
  expect(await service.sql`select from app.events where tenant_id = ${id}`).toHaveLength(0)
  const again = await mintSession(service.sql, { email })
  const selected = await service.request(`POST /v1/auth/tenants/${id}/select`, { token: again.token })
  expect(selected.status).toBe(200)
})

it('ends no session of somebody above the rank, of a former member, or of an invited person', async () => {
  const { slug, owner, admin, sales } = await service.newTenant('owner', 'admin', 'sales')
  const end = async (id: string) =>
    (await service.request(`DELETE /v1/members/${id}/sessions`, { token: admin.token })).status
  expect(await end(owner.membershipId)).toBe(403)
  expect(await statusOf(owner)).toBe(200)
  await service.request(`DELETE /v1/members/${sales.membershipId}`, { token: owner.token })
  expect(await end(sales.membershipId)).toBe(404)
  const body = { email: `waiting@${slug}.test`, role: 'viewer' }
  const invited = await service.request('POST /v1/members/invite', { token: owner.token, body })
  expect(await end(invited.body.id)).toBe(404)
})
