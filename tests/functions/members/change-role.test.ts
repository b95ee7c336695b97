import { beforeEach, describe, expect, it } from 'vitest'
import { expectContract, expectProblem } from '#tests/support/expect-answer.ts'
import { createMember, createUser, type TestMember } from '#tests/support/minted-session.ts'
import type { Answer } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()
let slug: string
let tenantId: string
let owner: TestMember
let admin: TestMember
let sales: TestMember

beforeEach(async () => {
  ;({ slug, id: tenantId, owner, admin, sales } = await service.newTenant('owner', 'admin', 'sales'))
})

const change = (member: { membershipId: string }, role: string, by = owner): Promise<Answer> =>
  service.request(`PATCH /v1/members/${member.membershipId}`, { token: by.token, body: { role } })
const roleOf = async ({ membershipId }: TestMember): Promise<string> => {
  const [row] = await service.sql`
    select r.code from app.memberships m join app.roles r on r.id = m.role_id where m.id = ${membershipId}`
  return row?.['code']
}

describe('PATCH /v1/members/{id}', () => {
  it('returns the member in the new role, as the member list shows it', async () => {
    const answer = await change(sales, 'designer')
    expect(answer.status).toBe(200)
    expectContract(answer, tenantId)
    expect(answer.body.role).toEqual({ id: 5, code: 'designer', label: 'Designer', rank: 50 })
    const { body } = await service.request('GET /v1/members', { token: owner.token })
    expect(body.data).toContainEqual(answer.body)
  })

  it('applies a new role to the member’s next request', async () => {
    const permissions = async (): Promise<string[]> =>
      (await service.request('GET /v1/auth/session', { token: sales.token })).body.permissions
    expect(await permissions()).not.toContain('member.manage')
    expect((await service.request('GET /v1/members', { token: sales.token })).status).toBe(403)
    await change(sales, 'admin')
    expect(await permissions()).toContain('member.manage')
    expect((await service.request('GET /v1/members', { token: sales.token })).status).toBe(200)
    await change(sales, 'viewer')
    expect(await permissions()).not.toContain('member.manage')
    expect((await service.request('GET /v1/members', { token: sales.token })).status).toBe(403)
  })

  it('rejects roles above the caller’s rank and changes of members above it', async () => {
    for (const [member, role] of [
      [sales, 'owner'],
      [admin, 'owner'],
      [owner, 'viewer'],
      [owner, 'admin'],
      [owner, 'owner'],
    ] as const) {
      const answer = await change(member, role, admin)
      expect(answer.status).toBe(403)
      expectContract(answer, tenantId)
    }
    expect([await roleOf(owner), await roleOf(admin), await roleOf(sales)]).toEqual(['owner', 'admin', 'sales'])
    expect((await change(sales, 'admin', admin)).status).toBe(200)
    expect((await change(sales, 'viewer', admin)).status).toBe(200)
    expect((await change(sales, 'owner', owner)).status).toBe(200)
  })

  it('keeps the last owner: rejects the demotion with 409', async () => {
    const founder = { membershipId: '' }
    const [row] = await service.sql`
      select m.id from app.memberships m join app.users u on u.id = m.user_id where u.email = ${`founder@${slug}.test`}`
    founder.membershipId = row?.['id']
    expect((await change(founder, 'viewer')).status).toBe(200)
    const answer = await change(owner, 'admin')
    expectProblem(answer, 'last-owner')
    expectContract(answer, tenantId)
    expect(await roleOf(owner)).toBe('owner')
    // Invited and revoked owners do not count.
    const { membershipId } = await createMember(service.sql, { email: `other@${slug}.test`, slug })
    await service.sql`update app.memberships set accepted_at = null where id = ${membershipId}`
    expect((await change(owner, 'admin')).status).toBe(409)
    await service.sql`update app.memberships set accepted_at = now(), revoked_at = now() where id = ${membershipId}`
    expect((await change(owner, 'admin')).status).toBe(409)
    await service.sql`update app.memberships set revoked_at = null where id = ${membershipId}`
    expect((await change(owner, 'admin')).status).toBe(200)
  })

  it('returns 404 when the role of a revoked member is changed', async () => {
    await service.sql`update app.memberships set revoked_at = now() where id = ${sales.membershipId}`
    expect((await change(sales, 'designer')).status).toBe(404)
    expect(await roleOf(sales)).toBe('sales')
  })

  it('rejects an unknown role with 422', async () => {
    for (const role of ['', 'Owner', 'root', '1', 'sales ', '*', 'x'.repeat(41)]) {
      const answer = await change(sales, role)
      expect(answer.status, role).toBe(422)
      expect(answer.body.errors[0].pointer).toBe('#/role')
    }
    expect(await roleOf(sales)).toBe('sales')
  })

  it('records one audit entry for a role change and none when the role is the same', async () => {
    await change(sales, 'designer')
    await change(sales, 'designer')
    const rows = await service.sql`select before, after from app.audit_log where target_id = ${sales.membershipId}`
    expect(rows).toEqual([{ before: { role: 'sales' }, after: { role: 'designer' } }])
  })

  it('changes the role that an open invitation will grant, with the caller as its inviter', async () => {
    const email = `late@${slug}.test`
    const userId = await createUser(service.sql, { email })
    const invite = { token: admin.token, body: { email, role: 'sales' } }
    const { body: invitation } = await service.request('POST /v1/members/invite', invite)
    const changed = await change({ membershipId: invitation.id }, 'owner')
    expect(changed.status).toBe(200)
    expect(changed.body).toMatchObject({ id: invitation.id, role: { code: 'owner' }, invited_by: owner.userId })
    const { body } = await service.request('GET /v1/members', { token: owner.token })
    expect(body.data).toContainEqual(changed.body)
    const open = await service.request('GET /v1/members/invitations', { token: owner.token })
    expect(open.body.data).toEqual([{ ...invitation, role: 'owner', invited_by: owner.userId }])
    expect((await change({ membershipId: invitation.id }, 'viewer', admin)).status).toBe(403)
    const token = await service.mail.tokenFor(email)
    expect((await service.request('POST /v1/auth/invitations/accept', { body: { token } })).status).toBe(200)
    const [row] = await service.sql`select role_id from app.memberships where user_id = ${userId}`
    expect(row).toEqual({ role_id: 1 })
  })
})
