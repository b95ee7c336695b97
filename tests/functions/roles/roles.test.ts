import { ROLE_NAMES } from '#shared/identity/role-names.ts'
import { randomUUID } from 'node:crypto'
import type postgres from 'postgres'
import { beforeAll, describe, expect, it } from 'vitest'
import { expectProblem } from '#tests/support/expect-answer.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()
let shop: Awaited<ReturnType<typeof newShop>>
beforeAll(async () => {
  shop = await newShop()
})

const newShop = () => service.newTenant('owner', 'admin', 'production', 'viewer', 'sales')
const newCode = (): string => `r${randomUUID().slice(0, 8)}`
let made = 0
const create = (token: string, body: object = {}) => {
  made += 1
  return service.request('POST /v1/roles', {
    token,
    body: { code: newCode(), label: `Night ${made}`, based_on: 'production', add: [], ...body },
  })
}
const change = (token: string, id: number, body: object) => service.request(`PATCH /v1/roles/${id}`, { token, body })
const remove = (token: string, id: number) => service.request(`DELETE /v1/roles/${id}`, { token })
const codes = async (token: string): Promise<string[]> =>
  (await service.request('GET /v1/roles', { token })).body.data.map(({ code }: { code: string }) => code)
const permissionsOf = async (token: string): Promise<string[]> =>
  (await service.request('GET /v1/auth/session', { token })).body.permissions
/** Returns what the migrations permit a role of the platform. */
const granted = async (code: string): Promise<string[]> => {
  const rows = await service.sql<{ permission: string }[]>`
    select p.permission from app.role_permissions p join app.roles r on r.id = p.role_id
     where r.code = ${code} and r.tenant_id is null order by p.permission collate "C"`
  return rows.map(({ permission }) => permission)
}
const give = (membershipId: string, role: string) =>
  service.request(`PATCH /v1/members/${membershipId}`, { token: shop.owner.token, body: { role } })

it('lists to every member the roles of the platform and of the tenant, the highest rank first', async () => {
  const { body: made } = await create(shop.owner.token, { add: ['deal.price.read', 'deal.price.read'] })
  const { status, body } = await service.request('GET /v1/roles', { token: shop.viewer.token })
  expect(status).toBe(200)
  expect(body.data.slice(0, 2)).toMatchObject([
    { id: 1, code: 'owner', rank: 100, tenant_role: false, based_on: null },
    { id: 2, code: 'admin', rank: 90, tenant_role: false, based_on: null },
  ])
  expect(body.data.find(({ code }: { code: string }) => code === 'viewer').permissions).toEqual(await granted('viewer'))
  expect(body.data.find(({ id }: { id: number }) => id === made.id)).toEqual(made)
  expect(made).toEqual({
    id: expect.any(Number),
    code: made.code,
    label: expect.stringMatching(/^Night \d+$/),
    rank: 40,
    tenant_role: true,
    based_on: 'production',
    permissions: [...(await granted('production')), 'deal.price.read'].toSorted(),
  })
  expect(made.id).toBeGreaterThanOrEqual(100)
})

it('brings the roles along with the open invitations and with a member, when asked', async () => {
  const read = async (path: string) => (await service.request(`GET ${path}`, { token: shop.owner.token })).body
  const { data: roles } = await read('/v1/roles')
  for (const path of ['/v1/members/invitations', `/v1/members/${shop.sales.membershipId}`]) {
    const [alone, together] = [await read(path), await read(`${path}?include=roles`)]
    expect(together).toEqual({ ...alone, roles })
    expect(alone).not.toHaveProperty('roles')
  }
})

it('gives a member added permissions from their next request on, and nobody else', async () => {
  const { body: role } = await create(shop.owner.token)
  const [before] = await Promise.all([permissionsOf(shop.sales.token), permissionsOf(shop.production.token)])
  expect((await give(shop.production.membershipId, role.code)).body.role).toMatchObject({ id: role.id, rank: 40 })
  const connect = () =>
    service.request('POST /v1/roles', {
      token: shop.production.token,
      body: { code: 'x', label: 'x', based_on: 'viewer', add: [] },
    })
  expect((await connect()).status).toBe(403)
  await change(shop.owner.token, role.id, { add: ['member.manage'] })
  expect(await permissionsOf(shop.production.token)).toContain('member.manage')
  expect((await connect()).status).toBe(422)
  expect(await permissionsOf(shop.sales.token)).toEqual(before)
  await change(shop.owner.token, role.id, { add: [] })
  expect((await connect()).status).toBe(403)
})

it('can be invited to and accepted like a role of the platform', async () => {
  const { body: role } = await create(shop.owner.token)
  const email = `${role.code}@roles.test`
  const invited = await service.request('POST /v1/members/invite', {
    token: shop.owner.token,
    body: { email, role: role.code },
  })
  expect(invited.body).toMatchObject({ role: role.code })
  expectProblem(await remove(shop.owner.token, role.id), 'role-in-use')
})

it('is refused to those who hold less than it permits', async () => {
  const { admin, owner } = shop
  expect((await create(owner.token, { based_on: 'owner' })).status).toBe(403)
  expect((await create(admin.token, { based_on: 'admin' })).status).toBe(200)
  const { body: manager } = await create(owner.token, { based_on: 'production', add: ['member.manage'] })
  const other = await service.newTenant('viewer')
  expect(other.viewer.token).not.toBe('')
  expect((await give(shop.viewer.membershipId, manager.code)).status).toBe(200)
  // A production rank: cannot make a role of a higher rank, nor add what it lacks.
  expect((await create(shop.viewer.token, { based_on: 'sales' })).status).toBe(403)
  expect((await create(shop.viewer.token, { based_on: 'production', add: ['deal.write'] })).status).toBe(403)
  expect((await create(shop.viewer.token, { based_on: 'production', add: ['member.manage'] })).status).toBe(200)
  const { body: high } = await create(owner.token, { based_on: 'sales' })
  expect((await change(shop.viewer.token, high.id, { label: 'Mine' })).status).toBe(403)
  expect((await remove(shop.viewer.token, high.id)).status).toBe(403)
  // Of one rank, but it permits more. To take from it asks for as much as to add to it.
  const { body: wide } = await create(owner.token, { based_on: 'production', add: ['member.manage', 'vendor.manage'] })
  for (const body of [{ label: 'Mine' }, { add: [] }, { add: ['member.manage'] }])
    expect((await change(shop.viewer.token, wide.id, body)).status).toBe(403)
  expect((await remove(shop.viewer.token, wide.id)).status).toBe(403)
  const { body: equal } = await create(owner.token, { based_on: 'production', add: ['member.manage'] })
  expect((await change(shop.viewer.token, equal.id, { label: 'Theirs', add: [] })).status).toBe(200)
  expect((await remove(shop.viewer.token, equal.id)).status).toBe(200)
  // Their own role.
  expect((await change(shop.viewer.token, manager.id, { add: [] })).status).toBe(403)
  expect((await change(owner.token, 7, { label: 'Mine' })).status).toBe(403)
  expect((await remove(owner.token, 7)).status).toBe(403)
})

it.each([
  ['an unknown permission', { add: ['no.such'] }],
  ['every permission', { add: ['*'] }],
  ['an unknown base', { based_on: 'no-such-role' }],
  ['a code with capitals', { code: 'Night' }],
  ['a label of two lines', { label: 'Night\nshift' }],
  ['a label with a link', { label: 'https://payroll.evil.test/login' }],
])('rejects %s', async (_what, body) => {
  expectProblem(await create(shop.owner.token, body), 'validation-failed')
})

it('rejects a code that exists, also as a role of the platform, until the role is deleted', async () => {
  const { owner } = shop
  const { body: role } = await create(owner.token)
  expectProblem(await create(owner.token, { code: role.code }), 'role-exists')
  expectProblem(await create(owner.token, { code: 'sales' }), 'role-exists')
  expect((await remove(owner.token, role.id)).body).toEqual(role)
  expect(await codes(owner.token)).not.toContain(role.code)
  expect((await remove(owner.token, role.id)).status).toBe(404)
  expect((await create(owner.token, { code: role.code })).status).toBe(200)
})

it('rejects a name that another role has, in any case, also one of the platform in either language', async () => {
  const { owner } = await newShop()
  const { body: night } = await create(owner.token, { label: 'Night shift' })
  const { body: day } = await create(owner.token, { label: 'Day shift' })
  for (const label of ['Night shift', 'NIGHT SHIFT', 'Admin', 'account manager', 'Administrador', 'diseñador'])
    for (const answer of [await create(owner.token, { label }), await change(owner.token, day.id, { label })]) {
      expectProblem(answer, 'validation-failed')
      expect(answer.body.errors, label).toMatchObject([{ pointer: '#/label', code: 'duplicate' }])
    }
  expect((await change(owner.token, night.id, { label: 'Night Shift' })).body.label).toBe('Night Shift')
  await remove(owner.token, night.id)
  expect((await change(owner.token, day.id, { label: 'Night shift' })).status).toBe(200)
  expect((await create(shop.owner.token, { label: 'Night shift' })).status).toBe(200)
})

it('has no two roles of one name in a tenant, whoever writes them', async () => {
  const own = await newShop()
  await create(own.owner.token, { label: 'Night shift' })
  await expect(
    service.sql`insert into app.roles (tenant_id, code, label, rank, based_on) values (${own.id}, 'x1', 'NIGHT shift', 10, 7)`,
  ).rejects.toThrow('roles_one_per_label')
})

it('keeps a role that a member holds, and deletes it once nobody does', async () => {
  const own = await newShop()
  const { body: role } = await create(own.owner.token)
  const giveTo = (code: string) =>
    service.request(`PATCH /v1/members/${own.sales.membershipId}`, { token: own.owner.token, body: { role: code } })
  await giveTo(role.code)
  expectProblem(await remove(own.owner.token, role.id), 'role-in-use')
  await giveTo('viewer')
  expect((await remove(own.owner.token, role.id)).status).toBe(200)
  expectProblem(await giveTo(role.code), 'validation-failed')
})

it('makes at most twenty roles of a tenant, also by concurrent requests', async () => {
  const own = await newShop()
  const answers = await Promise.all(Array.from({ length: 24 }, () => create(own.owner.token)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(20)
  for (const answer of answers.filter(({ status }) => status !== 200)) expectProblem(answer, 'role-limit')
})

it('lets no membership, invitation or permission refer to a role of another tenant', async () => {
  const other = await newShop()
  const { body: role } = await create(other.owner.token)
  expect(await codes(shop.owner.token)).not.toContain(role.code)
  expectProblem(await give(shop.sales.membershipId, role.code), 'validation-failed')
  for (const call of [change(shop.owner.token, role.id, { label: 'x' }), remove(shop.owner.token, role.id)])
    expect((await call).status).toBe(404)
  const foreign = { code: '23503' }
  await expect(
    service.sql`update app.memberships set role_id = ${role.id} where id = ${shop.sales.membershipId}`,
  ).rejects.toMatchObject(foreign)
  await expect(service.sql`
    insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, expires_at)
    values (sha256('x'), 'invite', ${shop.id}, 'x@roles.test', ${role.id}, now())`).rejects.toMatchObject(foreign)
  await expect(service.sql`
    insert into app.role_permissions (tenant_id, role_id, permission) values (${shop.id}, ${role.id}, 'deal.read')`).rejects.toMatchObject(
    foreign,
  )
})

it.each([
  ['without a tenant', 'tenant_id', null],
  ['based on the role of owners', 'based_on', 1],
  ['with another rank than its base', 'rank', 90],
  ['based on a role of a tenant', 'based_on', 'self'],
])('cannot be stored %s', async (_what, column, value) => {
  const { body: role } = await create(shop.owner.token)
  const { sql } = service
  await expect(
    sql`update app.roles set ${sql(column)} = ${value === 'self' ? role.id : value} where id = ${role.id}`,
  ).rejects.toMatchObject({ code: expect.stringMatching(/^(23514|23503)$/) })
  await expect(
    sql`insert into app.role_permissions (tenant_id, role_id, permission) values (${shop.id}, ${role.id}, '*')`,
  ).rejects.toMatchObject({ code: '23514' })
})

describe('the permissions that a role is stored with', () => {
  /** The roles whose stored permissions are not those of the role and its base. */
  const wrong = () => service.sql`
    select r.id, r.permissions from app.roles r
     where r.permissions <> to_jsonb(array(select distinct p.permission collate "C" from app.role_permissions p
                                            where p.role_id in (r.id, r.based_on) order by 1))`
  const added = async (id: number) => {
    const [role] = await service.sql<{ permissions: string[] }[]>`select permissions from app.roles where id = ${id}`
    return role?.permissions.filter((permission) => permission.startsWith('added.'))
  }
  const newRole = async (add: readonly string[] = []) => (await create(shop.owner.token, { add })).body.id as number

  it('are those that it and its base have, after every change of either', async () => {
    const id = await newRole(['deal.price.read'])
    const { sql } = service
    const steps = [
      () => change(shop.owner.token, id, { add: ['member.manage', 'deal.write'] }),
      () => change(shop.owner.token, id, { add: [], label: 'Day shift' }),
      () => sql`insert into app.role_permissions (role_id, permission) values (6, 'added.one'), (6, 'added.two')`,
      () => sql`update app.roles set permissions = '["*"]' where id in (6, ${id})`,
      () => sql`delete from app.role_permissions where permission = 'added.one'`,
    ]
    for (const step of steps) {
      await step()
      expect(await wrong()).toEqual([])
    }
    expect(await added(id)).toEqual(['added.two'])
    await sql`delete from app.role_permissions where permission = 'added.two'`
    await expect(
      sql`update app.role_permissions set permission = 'deal.read' where role_id = ${id} or role_id = 6`,
    ).rejects.toMatchObject({ code: '23514' })
  })

  it.each(['the new role', 'the permission of its base'])(
    'are right when %s is committed first, while the other waits',
    async (first) => {
      const holder = await service.sql.reserve()
      await holder`begin`
      const insertRole = (sql: postgres.Sql) => sql<{ id: number }[]>`
      insert into app.roles (tenant_id, code, label, rank, based_on) values (${shop.id}, ${newCode()}, ${newCode()}, 40, 6) returning id`
      const addPermission = (sql: postgres.Sql) => sql<{ id: number }[]>`
      insert into app.role_permissions (role_id, permission) values (6, 'added.race') returning role_id as id`
      const [one, two] = first === 'the new role' ? [insertRole, addPermission] : [addPermission, insertRole]
      await one(holder)
      const other = two(service.sql).execute()
      const waits = () =>
        service.sql`select from pg_stat_activity where wait_event_type = 'Lock' and query ~ 'app.role(s|_permissions)'`
      await expect.poll(waits).toHaveLength(1)
      await holder`commit`
      holder.release()
      await other
      expect(await wrong()).toEqual([])
      await service.sql`delete from app.role_permissions where permission = 'added.race'`
      expect(await wrong()).toEqual([])
    },
  )
})

it('has a name in each language for exactly the roles of the platform, the English one as stored', async () => {
  const stored = await service.sql<{ code: string; label: string }[]>`
    select code, label from app.roles where tenant_id is null and id < 10 order by id`
  expect(Object.entries(ROLE_NAMES).map(([code, { en }]) => [code, en])).toEqual(
    stored.map(({ code, label }) => [code, label]),
  )
})
