import { beforeEach, describe, expect, it } from 'vitest'
import { expectContract, expectProblem } from '#tests/support/expect-answer.ts'
import { createUser, createTenant, mintSession, type TestMember } from '#tests/support/minted-session.ts'
import type { Answer } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()
let slug: string
let tenant: string
let owner: TestMember
let admin: TestMember
let sales: TestMember

beforeEach(async () => {
  ;({ slug, id: tenant, owner, admin, sales } = await service.newTenant('owner', 'admin', 'sales'))
})

const revoke = (id: string, by = owner): Promise<Answer> =>
  service.request(`DELETE /v1/members/${id}`, { token: by.token })
const statusOf = async (token: string): Promise<number> =>
  (await service.request('GET /v1/auth/session', { token })).status
const rowOf = async (id: string) => (await service.sql`select * from app.memberships where id = ${id}`)[0]

describe('DELETE /v1/members/{id}', () => {
  it('returns the revoked member and ends all sessions of the membership', async () => {
    const email = `sales@${slug}.test`
    const second = await mintSession(service.sql, { email, slug })
    const elsewhere = await mintSession(service.sql, { email })
    expect([await statusOf(sales.token), await statusOf(second.token)]).toEqual([200, 200])
    const answer = await revoke(sales.membershipId)
    expect(answer.status).toBe(200)
    expectContract(answer, tenant)
    expect(answer.body).toMatchObject({ id: sales.membershipId, user: { email }, role: { code: 'sales' } })
    expect(Date.parse(answer.body.revoked_at)).not.toBeNaN()
    expect([await statusOf(sales.token), await statusOf(second.token)]).toEqual([401, 401])
    const [live] = await service.sql`
      select count(*)::int as live from app.sessions where tenant_id = ${tenant} and user_id = ${sales.userId}
         and revoked_at is null`
    expect(live?.['live']).toBe(0)
    // A session without a tenant stays alive but cannot select the tenant.
    expect(await statusOf(elsewhere.token)).toBe(200)
    const chosen = await service.request(`POST /v1/auth/tenants/${tenant}/select`, { token: elsewhere.token })
    expect(chosen.status).toBe(404)
  })

  it('keeps the person’s sessions in other tenants when a membership is revoked', async () => {
    const other = `${slug}-other`
    const otherTenant = await createTenant(service.sql, other)
    await service.sql`
      insert into app.memberships (tenant_id, user_id, role_id, accepted_at) values (${otherTenant}, ${sales.userId}, 7, now())`
    const there = await mintSession(service.sql, { email: `sales@${slug}.test`, slug: other })
    await revoke(sales.membershipId)
    expect(await statusOf(there.token)).toBe(200)
  })

  it('returns the first revocation time and writes nothing when a member is revoked again', async () => {
    const first = await revoke(sales.membershipId)
    const second = await revoke(sales.membershipId, admin)
    expect(second.status).toBe(200)
    expect(second.body).toEqual(first.body)
    const entries = await service.sql`select from app.audit_log where target_id = ${sales.membershipId}`
    expect(entries).toHaveLength(1)
    await service.mail.deliver()
    expect(service.mail.to(`sales@${slug}.test`)).toHaveLength(1)
  })

  it('rejects revoking a member above the caller’s rank', async () => {
    const answer = await revoke(owner.membershipId, admin)
    expect(answer.status).toBe(403)
    expectContract(answer, tenant)
    expect((await rowOf(owner.membershipId))?.['revoked_at']).toBeNull()
    expect(await statusOf(owner.token)).toBe(200)
    expect((await revoke(admin.membershipId, owner)).status).toBe(200)
    expect(await statusOf(admin.token)).toBe(401)
  })

  it('keeps the last owner and its sessions: rejects the revocation with 409', async () => {
    const [founder] = await service.sql`
      select m.id from app.memberships m join app.users u on u.id = m.user_id where u.email = ${`founder@${slug}.test`}`
    expect((await revoke(founder?.['id'])).status).toBe(200)
    const answer = await revoke(owner.membershipId)
    expectProblem(answer, 'last-owner')
    expectContract(answer, tenant)
    expect(await statusOf(owner.token)).toBe(200)
  })

  it('lets members revoke themselves', async () => {
    expect((await revoke(admin.membershipId, admin)).status).toBe(200)
    expect(await statusOf(admin.token)).toBe(401)
  })

  it('mails a revoked member, but not an invited person who had not accepted', async () => {
    await revoke(sales.membershipId)
    await service.mail.deliver()
    const [message] = service.mail.to(`sales@${slug}.test`)
    expect(message?.subject).toBe(`You were removed from Shop ${slug} (${slug})`)
    expect(message?.text).toContain(`Shop ${slug}`)
    const email = `waiting@${slug}.test`
    const userId = await createUser(service.sql, { email })
    const invited = { token: owner.token, body: { email, role: 'sales' } }
    const { body: invitation } = await service.request('POST /v1/members/invite', invited)
    const raw = await service.mail.tokenFor(email)
    const { status, body } = await revoke(invitation.id)
    expect([status, body.accepted_at, body.revoked_at]).toEqual([200, null, expect.any(String)])
    await service.mail.deliver()
    expect(service.mail.to(email)).toHaveLength(1)
    const accepted = await service.request('POST /v1/auth/invitations/accept', { body: { token: raw } })
    expect(accepted.status).toBe(400)
    expect(await service.sql`select from app.memberships where user_id = ${userId}`).toHaveLength(0)
  })

  it('keeps a membership revoked when its old invitation token is used again', async () => {
    const email = `replay@${slug}.test`
    const body = { email, role: 'sales' }
    await service.request('POST /v1/members/invite', { token: owner.token, body })
    const token = await service.mail.tokenFor(email)
    const accept = () =>
      service.request('POST /v1/auth/invitations/accept', { body: { token, password: 'a passphrase of the replay' } })
    expect((await accept()).body.account_created).toBe(true)
    const [membership] = await service.sql`
      select m.id from app.memberships m join app.users u on u.id = m.user_id where u.email = ${email}`
    await revoke(membership?.['id'])
    const before = await rowOf(membership?.['id'])
    expect((await accept()).status).toBe(200)
    expect(await rowOf(membership?.['id'])).toEqual(before)
    expect(before?.['revoked_at']).not.toBeNull()
    const session = await mintSession(service.sql, { email, slug })
    expect(await statusOf(session.token)).toBe(401)
  })
})
