import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { beforeAll, describe, expect, it } from 'vitest'
import { eventSchemas } from '#shared/audit/event-schema.ts'
import { createClient } from '#shared/client/client.ts'
import { SERVICE_SCOPES } from '#shared/identity/service-key.ts'
import { expectProblem } from '#tests/support/expect-answer.ts'
import { mintServiceKey, type ServiceKey } from '#tests/support/service-key.ts'
import { useService } from '#tests/support/test.ts'
import { type MemberCopy, updateCopy } from '#tests/shared/client/example.ts'

const service = useService()
let key: ServiceKey
beforeAll(async () => {
  key = await mintServiceKey(service.sql)
})

const get = (path: string, { authorization } = key) => service.request(`GET ${path}`, { headers: { authorization } })
const list = async (query = '') => {
  const answer = await get(`/v1/memberships?${query}`)
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}
const changesAfter = async (position: string) => (await get(`/v1/changes?limit=100&after=${position}`)).body

describe('the memberships for a service', () => {
  it('has the members and former members of the tenant, with what each may do, and nobody who was only invited', async () => {
    const { id, owner, sales, viewer } = await service.newTenant('owner', 'sales', 'viewer')
    await service.newTenant('owner')
    for (const email of ['nobody@invited.test', 'owner@acme.test']) {
      const body = { email, role: 'viewer' }
      expect((await service.request('POST /v1/members/invite', { token: owner.token, body })).status).toBe(200)
    }
    await service.request(`DELETE /v1/members/${sales.membershipId}`, { token: owner.token })
    const { data, next_cursor } = await list(`tenant_id=${id}`)
    expect(next_cursor).toBeNull()
    expect(data.map(({ id: membership, live }: any) => [membership, live])).toEqual(
      expect.arrayContaining([
        [owner.membershipId, true],
        [sales.membershipId, false],
        [viewer.membershipId, true],
      ]),
    )
    const accepted = await service.sql<{ id: string }[]>`
      select id from app.memberships where tenant_id = ${id} and accepted_at is not null order by created_at, id`
    expect(data.map((each: any) => each.id)).toEqual(accepted.map((each) => each.id))
    const seen = data.find((each: any) => each.id === viewer.membershipId)
    expect(seen).toMatchObject({ tenant_id: id, user_id: viewer.userId, role: 'viewer', revoked_at: null })
    expect(seen.permissions).toContain('catalog.read')
    expect(seen.permissions).not.toContain('deal.write')
    expect(data.find((each: any) => each.id === owner.membershipId).permissions).toContain('deal.write')
    expect(data.find((each: any) => each.id === sales.membershipId).revoked_at).toEqual(expect.any(String))
  })

  it.each<[string, (of: { id: string; userId: string }) => PromiseLike<unknown>]>([
    [
      'the user is disabled',
      ({ userId }) => service.sql`update app.users set disabled_at = now() where id = ${userId}`,
    ],
    ['the tenant is suspended', ({ id }) => service.sql`update app.tenants set status = 'suspended' where id = ${id}`],
    ['the tenant is deleted', ({ id }) => service.sql`update app.tenants set deleted_at = now() where id = ${id}`],
  ])('is not live while %s', async (_, change) => {
    const { id, sales } = await service.newTenant('sales')
    const isLive = async () =>
      (await list(`tenant_id=${id}`)).data.find((each: any) => each.user_id === sales.userId).live
    expect(await isLive()).toBe(true)
    await change({ id, userId: sales.userId })
    expect(await isLive()).toBe(false)
  })

  it('is paged without a gap or a copy, for one tenant and for all', async () => {
    const { id } = await service.newTenant('owner', 'sales', 'viewer')
    for (const filter of [`tenant_id=${id}&`, '']) {
      const whole = (await list(`${filter}limit=100`)).data.map((each: any) => each.id)
      const read: string[] = []
      let page = await list(`${filter}limit=1`)
      for (; page.next_cursor !== null; page = await list(`${filter}limit=1&cursor=${page.next_cursor}`))
        read.push(page.data[0].id)
      read.push(page.data[0].id)
      expect(read).toEqual(whole)
    }
    expect(await list(`tenant_id=${crypto.randomUUID()}`)).toMatchObject({ data: [], next_cursor: null })
    expectProblem(await get('/v1/memberships?tenant_id=x'), 'validation-failed')
  })

  it('says where its reader resumes: each change that a page lacks comes after that position', async () => {
    const { id, owner, sales } = await service.newTenant('owner', 'sales')
    // A change that has begun, and commits after the pages are read.
    const position = await service.sql.begin(async (sql) => {
      await sql`
        insert into app.audit_log (tenant_id, action, target_type, target_id) values (${id}, 'design.created', 'design', ${id})`
      // A later one that has ended.
      await service.sql`select pg_current_xact_id()`
      return (await list(`tenant_id=${id}`)).changes_after
    })
    await service.request(`PATCH /v1/members/${sales.membershipId}`, { token: owner.token, body: { role: 'viewer' } })
    const actions = async () =>
      (await changesAfter(position)).data
        .filter(({ detail }: any) => detail.tenant_id === id)
        .map(({ action }: any) => action)
    await expect.poll(actions, { timeout: 20_000 }).toEqual(['design.created', 'membership.role_changed'])
  })

  it('lets a service keep its copy as the README shows, also after its position has expired', async () => {
    const { id, owner, sales, viewer } = await service.newTenant('owner', 'sales', 'viewer')
    const client = createClient({ baseUrl: service.gateway.url, serviceKey: { name: key.name, key: key.secret } })
    const roleIn = ({ roles }: MemberCopy, user: string) => roles.get(`${id} ${user}`)
    let copy = await updateCopy(client, { position: null, roles: new Map() })
    expect([sales, viewer].map(({ userId }) => roleIn(copy, userId))).toEqual(['sales', 'viewer'])
    const change = { token: owner.token, body: { role: 'production' } }
    await service.request(`PATCH /v1/members/${sales.membershipId}`, change)
    await service.request(`DELETE /v1/members/${viewer.membershipId}`, { token: owner.token })
    const updated = async () => {
      copy = await updateCopy(client, copy)
      return [sales, viewer].map(({ userId }) => roleIn(copy, userId))
    }
    await expect.poll(updated, { timeout: 20_000 }).toEqual(['production', undefined])
    const beyond = btoa(JSON.stringify([String(2n ** 64n - 1n), crypto.randomUUID()])).replaceAll('=', '')
    copy = { position: beyond, roles: new Map([[`${id} ${viewer.userId}`, 'owner']]) }
    expect(await updated()).toEqual(['production', undefined])
  })
})

describe('the event of a membership', () => {
  it('names its user beside the membership, whoever wrote the entry, and no other event does', async () => {
    const ajv = new Ajv2020({ strict: false })
    formats.default(ajv)
    const { id, owner, sales, viewer } = await service.newTenant('owner', 'sales', 'viewer')
    const position = (await list(`tenant_id=${id}`)).changes_after
    await service.request(`PATCH /v1/members/${sales.membershipId}`, { token: owner.token, body: { role: 'viewer' } })
    await service.request(`DELETE /v1/members/${viewer.membershipId}`, { token: owner.token })
    const email = `${crypto.randomUUID()}@events.test`
    await service.request('POST /v1/members/invite', { token: owner.token, body: { email, role: 'viewer' } })
    const body = {
      token: await service.mail.tokenFor(email),
      full_name: 'A Person',
      password: 'a passphrase of the events',
    }
    expect((await service.request('POST /v1/auth/invitations/accept', { body })).status).toBe(200)
    await service.sql`
      insert into app.audit_log (tenant_id, action, target_type, target_id)
      values (${id}, 'membership.role_changed', 'membership', ${owner.membershipId})`
    const [accepted] = await service.sql<{ id: string; user_id: string }[]>`
      select m.id, m.user_id from app.memberships m join app.users u on u.id = m.user_id where u.email = ${email}`
    const seen = async () => (await changesAfter(position)).data.filter(({ detail }: any) => detail.tenant_id === id)
    await expect.poll(async () => (await seen()).length, { timeout: 20_000 }).toBe(5)
    const events = await seen()
    for (const { action, detail } of events) {
      const matches = ajv.validate(eventSchemas()[action] ?? false, detail)
      expect(ajv.errorsText(matches ? null : ajv.errors), action).toBe('No errors')
    }
    expect(events.map(({ action, detail: { subject } }: any) => [action, subject.id, subject.user_id])).toEqual([
      ['membership.role_changed', sales.membershipId, sales.userId],
      ['membership.revoked', viewer.membershipId, viewer.userId],
      ['invitation.created', expect.any(String), undefined],
      ['membership.accepted', accepted?.id, accepted?.user_id],
      ['membership.role_changed', owner.membershipId, owner.userId],
    ])
  })
})

describe('a service key', () => {
  it('is refused with a plain 403 by each route that is none of its scopes', async () => {
    const ask = {
      introspect: ({ authorization }: ServiceKey) =>
        service.request('POST /v1/introspect', { headers: { authorization }, body: { token: 'no token' } }),
      changes: (as: ServiceKey) => get('/v1/changes', as),
      memberships: (as: ServiceKey) => get('/v1/memberships', as),
    }
    for (const scope of SERVICE_SCOPES) {
      const scoped = await mintServiceKey(service.sql, { scopes: [scope] })
      for (const other of SERVICE_SCOPES) {
        const answer = await ask[other](scoped)
        expect(answer.status, `${other} with ${scope}`).toBe(other === scope ? 200 : 403)
        if (other !== scope) expect(answer.body).toMatchObject({ type: 'about:blank' })
        expect(answer.body).not.toHaveProperty('detail')
      }
    }
  })
})
