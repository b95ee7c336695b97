import { beforeEach, describe, expect, it } from 'vitest'
import { expectProblem } from '#tests/support/expect-answer.ts'
import type { TestMember, TestTenant } from '#tests/support/minted-session.ts'
import type { Answer } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

// A tenant's roles may share a rank and differ in permissions. `hr` and `boss` are both based on viewer.

const service = useService({ env: { INVITE_TENANT_LIMIT: '1000000' } })
let shop: TestTenant<'owner' | 'production' | 'sales' | 'viewer'>
let [hr, boss] = [0, 0]

const call = (route: string, { token }: TestMember, body?: object) => service.request(route, { token, body })
const change = (id: string, role: string, by: TestMember) => call(`PATCH /v1/members/${id}`, by, { role })
const invite = (email: string, role: string, by: TestMember) => call('POST /v1/members/invite', by, { email, role })
const accept = async (email: string) =>
  service.request('POST /v1/auth/invitations/accept', {
    body: {
      token: await service.mail.tokenFor(email),
      full_name: 'New Person',
      password: 'a sentence that nobody else has',
    },
  })
const expectForbidden = ({ status, body }: Answer) => {
  expect(status).toBe(403)
  expect(body).not.toHaveProperty('detail')
}
const addressIn = (name: string) => `${name}@${shop.slug}.test`
const roleOf = async ({ membershipId }: TestMember): Promise<string> => {
  const [row] = await service.sql`
    select r.code from app.memberships m join app.roles r on r.id = m.role_id where m.id = ${membershipId}`
  return row?.['code']
}

async function newRole(code: string, add: readonly string[]): Promise<number> {
  const { body } = await call('POST /v1/roles', shop.owner, { code, label: code, based_on: 'viewer', add })
  return body.id
}

beforeEach(async () => {
  shop = await service.newTenant('owner', 'production', 'sales', 'viewer')
  hr = await newRole('hr', ['member.manage'])
  boss = await newRole('boss', ['vendor.manage', 'company.write', 'deal.price.write', 'design.approve'])
  await change(shop.production.membershipId, 'hr', shop.owner)
})

describe('a role of the caller’s rank that permits more', () => {
  it('is not given to oneself, by a change or by an invitation', async () => {
    expectForbidden(await change(shop.production.membershipId, 'boss', shop.production))
    expectForbidden(await invite(addressIn('new'), 'boss', shop.production))
    expect(await roleOf(shop.production)).toBe('hr')
    expect((await call('GET /v1/vendor-accounts', shop.production)).status).toBe(403)
  })

  it('is neither given to a member nor taken from one', async () => {
    await change(shop.viewer.membershipId, 'boss', shop.owner)
    for (const role of ['viewer', 'hr', 'boss'])
      expectForbidden(await change(shop.viewer.membershipId, role, shop.production))
    expectForbidden(await call(`DELETE /v1/members/${shop.viewer.membershipId}`, shop.production))
    expect(await roleOf(shop.viewer)).toBe('boss')
    await change(shop.viewer.membershipId, 'viewer', shop.owner)
    expectForbidden(await change(shop.viewer.membershipId, 'boss', shop.production))
  })

  it('stays in an invitation that somebody above issued', async () => {
    const { body: invitation } = await invite(addressIn('new'), 'boss', shop.owner)
    for (const answer of [
      await change(invitation.id, 'viewer', shop.production),
      await change(invitation.id, 'boss', shop.production),
      await invite(addressIn('new'), 'viewer', shop.production),
      await call(`POST /v1/members/invitations/${invitation.id}/resend`, shop.production),
      await call(`DELETE /v1/members/invitations/${invitation.id}`, shop.production),
      await call(`DELETE /v1/members/${invitation.id}`, shop.production),
    ])
      expectForbidden(answer)
    const { body } = await call('GET /v1/members/invitations', shop.owner)
    expect(body.data).toEqual([invitation])
  })
})

it('gives, changes and takes away a role that permits no more than the caller’s', async () => {
  const { body: invitation } = await invite(addressIn('new'), 'viewer', shop.production)
  expect((await change(invitation.id, 'hr', shop.production)).status).toBe(200)
  expect((await change(shop.viewer.membershipId, 'hr', shop.production)).status).toBe(200)
  expect((await change(shop.viewer.membershipId, 'viewer', shop.production)).status).toBe(200)
  expect((await call(`DELETE /v1/members/${shop.viewer.membershipId}`, shop.production)).status).toBe(200)
  expect((await call(`DELETE /v1/members/invitations/${invitation.id}`, shop.production)).status).toBe(200)
  expect((await change(shop.production.membershipId, 'viewer', shop.production)).status).toBe(200)
})

describe('an invitation whose inviter may no longer give its role', () => {
  it.each([
    ['lost a permission of it', () => change(shop.production.membershipId, 'hr', shop.owner)],
    ['manages no members', () => call(`PATCH /v1/roles/${boss}`, shop.owner, { add: ['vendor.manage'] })],
    ['was removed', () => call(`DELETE /v1/members/${shop.production.membershipId}`, shop.owner)],
  ])('is not accepted when they %s, until somebody who may renews it', async (_what, lose) => {
    await call(`PATCH /v1/roles/${boss}`, shop.owner, { add: ['vendor.manage', 'member.manage'] })
    await newRole('vendors', ['vendor.manage'])
    await change(shop.production.membershipId, 'boss', shop.owner)
    const { body: invitation } = await invite(addressIn('new'), 'vendors', shop.production)
    await lose()
    expectProblem(await accept(addressIn('new')), 'token-invalid')
    await service.sql`update app.tokens set issued_at = now() - interval '1 day' where id = ${invitation.id}`
    expect((await call(`POST /v1/members/invitations/${invitation.id}/resend`, shop.owner)).status).toBe(200)
    expect((await accept(addressIn('new'))).status).toBe(200)
  })

  it('is not accepted when the role permits more since', async () => {
    await invite(addressIn('new'), 'hr', shop.production)
    await call(`PATCH /v1/roles/${hr}`, shop.owner, { add: ['member.manage', 'vendor.manage'] })
    await change(shop.production.membershipId, 'admin', shop.owner)
    await call(`PATCH /v1/roles/${boss}`, shop.owner, { add: ['member.manage'] })
    await change(shop.production.membershipId, 'boss', shop.owner)
    expectProblem(await accept(addressIn('new')), 'token-invalid')
  })
})

it('compares ranks alone between roles of the platform, whose higher ones permit all that lower ones do', async () => {
  const { body } = await call('GET /v1/roles', shop.owner)
  const platform = body.data.filter((role: { tenant_role: boolean }) => !role.tenant_role)
  expect(platform).toHaveLength(7)
  for (const caller of platform) {
    for (const from of platform) {
      for (const to of platform) {
        // Only these two manage members. Of the others, one attempt each.
        const manages = ['owner', 'admin'].includes(caller.code)
        if (!manages && from.id !== to.id) continue
        await service.sql`update app.memberships set role_id = ${caller.id} where id = ${shop.sales.membershipId}`
        await service.sql`update app.memberships set role_id = ${from.id} where id = ${shop.viewer.membershipId}`
        const allowed = manages && Math.max(from.rank, to.rank) <= caller.rank
        const answer = await change(shop.viewer.membershipId, to.code, shop.sales)
        expect(answer.status, `${caller.code}: ${from.code} to ${to.code}`).toBe(allowed ? 200 : 403)
      }
    }
  }
})
