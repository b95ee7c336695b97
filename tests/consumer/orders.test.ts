import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { ATTACKS } from '#tests/guarantees/isolation/hostile-sql.ts'
import type { KeyPermission } from '#shared/identity/permissions.ts'
import { lambdaContext } from '#tests/support/lambda-context.ts'
import { mintKey } from '#tests/support/minted-key.ts'
import { useService } from '#tests/support/test.ts'
import { createOrder } from './orders.ts'
import { mixTenants, type Orders, revokeBeforeWrites, startOrders } from './running-orders.ts'

const service = useService()
let orders: Orders
beforeAll(async () => {
  orders = await startOrders(service)
})
afterAll(() => orders.close())

const add = (token: string, title = 'Caps') => orders.ask({ route: 'POST /orders', token, body: { title } })
const list = (token: string, headers = {}) => orders.ask({ token, headers })

describe('the sample service', () => {
  it('creates and lists orders of the tenant of the session', async () => {
    const { sales, id } = await service.newTenant('sales')
    const other = await service.newTenant('sales')
    expect(await add(sales.token)).toMatchObject({
      status: 201,
      body: { title: 'Caps' },
      headers: { 'x-tenant-id': id },
    })
    expect((await list(sales.token)).body.data).toMatchObject([{ title: 'Caps', tenant_id: id }])
    expect((await list(other.sales.token)).body.data).toEqual([])
  })

  it.each([
    ['a role without the permission', 403, 'update app.memberships set role_id = 7 where id = $1'],
    ['a removed member', 401, 'update app.memberships set revoked_at = now() where id = $1'],
    [
      'a suspended tenant',
      401,
      `update app.tenants set status = 'suspended' where id = (select tenant_id from app.memberships where id = $1)`,
    ],
    [
      'a disabled user',
      401,
      'update app.users set disabled_at = now() where id = (select user_id from app.memberships where id = $1)',
    ],
  ])('obeys %s with %i on the next request', async (_what, status, change) => {
    const { sales } = await service.newTenant('sales')
    expect((await add(sales.token)).status).toBe(201)
    await service.sql.unsafe(change, [sales.membershipId])
    expect((await add(sales.token)).status).toBe(status)
  })

  it('deletes orders only soon after a sign-in or a step-up, and says with the bytes of Tenantry that one is needed', async () => {
    const { sales } = await service.newTenant('sales')
    await add(sales.token)
    await service.sql`update app.sessions set stepped_up_at = now() - interval '601 seconds' where id = ${sales.id}`
    const clear = (token: string) => orders.ask({ route: 'DELETE /orders', token })
    const refused = await clear(sales.token)
    expect(refused).toMatchObject({ status: 403, body: { title: 'Step-up required', status: 403 } })
    expect(refused.body.type).toMatch(/\/step-up-required$/)
    expect((await list(sales.token)).body.data).toHaveLength(1)
    await service.sql`update app.sessions set stepped_up_at = now() where id = ${sales.id}`
    expect(await clear(sales.token)).toMatchObject({ status: 200, body: { deleted: 1 } })
  })

  it('leaves no row of a write that a revocation overtook', () => revokeBeforeWrites(service, orders, 2))

  it('returns no row of another tenant while two work concurrently', () => mixTenants(service, orders, 24))

  it('ignores a forged context and a forged tenant, and refuses a forged proof', async () => {
    const { sales, id } = await service.newTenant('sales')
    const victim = await service.newTenant('sales')
    await add(victim.sales.token, 'of the victim')
    const own = await orders.guard.authorize(orders.eventOf({ token: sales.token }), 'deal.write')
    const forged = { ...own, tenant: { ...own.tenant, id: victim.id } }
    expect((await list(sales.token, { 'x-tenant-id': victim.id })).headers).toMatchObject({ 'x-tenant-id': id })
    const event = orders.eventOf({ token: '' })
    Object.assign(event.requestContext, { authorizer: { principal: JSON.stringify(forged) } })
    expect(await orders.handlerWith({})(event, lambdaContext)).toMatchObject({ statusCode: 401 })
    await createOrder(orders.sql, forged, 'of a forged tenant')
    const [row] = await service.sql`select tenant_id from orders.orders where title = 'of a forged tenant'`
    expect(row).toEqual({ tenant_id: id })
    const proof = randomBytes(103).toString('base64url')
    await expect(createOrder(orders.sql, { ...forged, proof }, 'forged')).rejects.toMatchObject({ status: 503 })
  })

  it.each([
    ['is down', { functionName: 'missing' }],
    ['hangs', { functionName: 'hanging:live', timeoutMs: 100 }],
  ])('responds with 503, and never 401, while authorize %s', async (_what, options) => {
    vi.spyOn(process, 'emitWarning').mockReturnValue()
    const { sales } = await service.newTenant('sales')
    const response = await orders.handlerWith(options)(orders.eventOf({ token: sales.token }), lambdaContext)
    expect(response).toMatchObject({ statusCode: 503, headers: { 'retry-after': expect.any(String) } })
  })

  it.each(['read only', 'read write'] as const)(
    'gives SQL injected in a %s transaction nothing of another tenant, no session and no hash',
    async (mode) => {
      // Letters alone: no name may hold a long number.
      const mark = `victim${randomBytes(16).toString('hex').replace(/\d/g, '')}`
      const { sales, id: A } = await service.newTenant('sales')
      const victim = await service.newTenant('owner')
      const [person] = await service.sql<{ email: string; hash: string; proof: Buffer }[]>`
        update app.users set full_name = ${mark} where id = ${victim.owner.userId} returning email`
      await service.sql`update app.tenants set legal_name = ${mark} where id = ${victim.id}`
      await service.sql`insert into orders.orders (tenant_id, title, created_by) values (${victim.id}, ${mark}, ${victim.owner.userId})`
      const secrets = await service.sql<{ secret: string }[]>`
        select encode(token_key, 'hex') as secret from app.sessions
        union all select encode(csrf_secret, 'hex') from app.sessions
        union all select password_hash from app.users where password_hash is not null
        union all select encode(unnest(array[scope_key, ticket_key, proof_key, salt_key]), 'hex') from app.seal`
      const sought = [mark, ...secrets.map(({ secret }) => secret)]
      const filled = (text: string) =>
        text
          .replaceAll('{scope of B}', `${victim.id.replaceAll('-', '')}${'0'.repeat(32)}`)
          .replaceAll('{A}', A)
          .replaceAll('{B}', victim.id)
          .replaceAll('{person}', victim.owner.userId)
          .replaceAll('{email}', person?.email ?? '')
          .replaceAll('{session}', victim.owner.id)
          .replaceAll('{account}', victim.id)
          .replaceAll('{ticket}', '\\x00')
      const attacks = [...new Set(ATTACKS.flatMap(({ statements }) => statements)), ...OWN]
      const seen: unknown[] = []
      const sql = postgres(orders.url, { max: 1, onnotice: (notice) => seen.push(notice) })
      const { proof } = await orders.guard.authorize(orders.eventOf({ token: sales.token }), 'deal.write')
      await sql.unsafe(`begin ${mode}`)
      await sql`select app.enter(${Buffer.from(proof, 'base64url')}, 'deal.write')`
      let done = 0
      for (const attack of attacks) {
        await sql.unsafe('savepoint attack')
        try {
          seen.push(await sql.unsafe(filled(attack)))
          done += 1
        } catch (error) {
          seen.push({ ...Object(error), query: undefined, message: String(error) })
        }
        await sql.unsafe('rollback to savepoint attack')
      }
      await sql.unsafe('rollback')
      await sql.end()
      expect(attacks.length).toBeGreaterThan(150)
      expect(done).toBeGreaterThan(10)
      const text = JSON.stringify(seen, (_name, value: unknown) =>
        value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
      )
      expect(sought.filter((value) => text.includes(value))).toEqual([])
      expect(await service.sql`select from orders.orders where tenant_id = ${victim.id}`).toHaveLength(1)
    },
  )
})

/** Attacks on the tables and functions that the role of the service reaches. */
const OWN = [
  'table orders.orders',
  `select * from orders.orders where tenant_id = '{B}'`,
  `insert into orders.orders (tenant_id, title) values ('{B}', 'x')`,
  `insert into orders.orders (title) values ('{B}') returning tenant_id`,
  'delete from orders.orders',
  `update orders.orders set tenant_id = '{A}'`,
  'alter table orders.orders disable row level security',
  'drop policy tenant_read on orders.orders',
  `select app.enforce_tenant('orders.orders')`,
  'set local role orders_owner',
  'set local role tenant_table_owner',
  `select app.enter_as_service('{B}')`,
  `select app.service_proof('\\x00')`,
  'table app.service_tenants',
  `select app.enter('\\x00', null)`,
  'select from orders.orders where title::int = 1',
  `select query_to_xml('table orders.orders', true, true, '')::text`,
  `select query_to_xml('table app.sessions', true, true, '')::text`,
]

describe('an API key', () => {
  const newKey = async (permissions: readonly KeyPermission[] = ['deal.read', 'deal.write']) => {
    const tenant = await service.newTenant('sales')
    return { ...tenant, ...(await mintKey(service.sql, { tenant: tenant.id, permissions })), tenant: tenant.id }
  }

  it('calls the route that accepts keys, in its tenant and in its own name, and no other route', async () => {
    const { key, id, tenant, sales } = await newKey()
    expect(await add(key)).toMatchObject({ status: 201, headers: { 'x-tenant-id': tenant } })
    expect((await list(sales.token)).body.data).toMatchObject([{ title: 'Caps', tenant_id: tenant }])
    expect(await service.sql`select created_by from orders.orders where tenant_id = ${tenant}`).toEqual([
      { created_by: id },
    ])
    for (const route of ['GET /orders', 'DELETE /orders'])
      expect(await orders.ask({ route, token: key }), route).toMatchObject({
        status: 403,
        body: { type: 'about:blank' },
      })
  })

  it.each([
    ['is revoked', 401, 'update app.api_keys set revoked_at = now() where id = $1'],
    ['expires', 401, 'update app.api_keys set expires_at = now() where id = $1'],
    [
      'has a suspended tenant',
      401,
      `update app.tenants set status = 'suspended' where id = (select tenant_id from app.api_keys where id = $1)`,
    ],
  ])('that %s is refused with %i, also when its write was checked before', async (_what, status, change) => {
    const { key, id } = await newKey()
    const principal = await orders.guard.authorize(
      orders.eventOf({ route: 'POST /orders', token: key }),
      'deal.write',
      {
        principals: ['key'],
      },
    )
    await createOrder(orders.sql, principal, 'in time')
    await service.sql.unsafe(change, [id])
    await expect(createOrder(orders.sql, principal, 'too late')).rejects.toMatchObject({ status })
    expect((await add(key)).status).toBe(status)
  })

  it('without the permission is refused by the guard, and by the database whatever the guard was asked', async () => {
    const { key } = await newKey(['deal.read'])
    expect((await add(key)).status).toBe(403)
    const principal = await orders.guard.authorize(orders.eventOf({ token: key }), 'deal.read', { principals: ['key'] })
    await expect(createOrder(orders.sql, principal, 'refused')).rejects.toMatchObject({ status: 403 })
  })
})
