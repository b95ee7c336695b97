import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newApiKey } from '#shared/secret/api-key.ts'
import { hashToken } from '#shared/secret/secret.ts'
import { mintKey } from '#tests/support/minted-key.ts'
import { PEPPER, startService, type TestService } from '#tests/support/service.ts'

// A program of a tenant calls the API with a key.

let service: TestService
beforeAll(async () => {
  service = await startService({ env: { API_KEY_LIMIT: '5' } })
})
afterAll(() => service.close())

const get = (key: string, route = 'GET /v1/deals') => service.request(route, { token: key })

describe('a live key', () => {
  it('reads and writes in its tenant with its permissions, and with no other one', async () => {
    const { id: tenant } = await service.newTenant('owner')
    const { key, id } = await mintKey(service.sql, { tenant, permissions: ['deal.write', 'company.read'] })
    const made = await service.request('POST /v1/deals', { token: key, body: { customer_name: 'By a key' } })
    expect(made).toMatchObject({ status: 200, body: { created_by: null, created_by_key: id } })
    expect(made.headers.get('x-tenant-id')).toBe(tenant)
    expect((await get(key, 'GET /v1/tenant')).body.id).toBe(tenant)
    expect((await get(key)).status).toBe(403)
    const [deal] =
      await service.sql`select tenant_id, created_by, created_by_key from app.deals where id = ${made.body.id}`
    expect(deal).toEqual({ tenant_id: tenant, created_by: null, created_by_key: id })
  })

  it('is the actor of its audit entries and events, and the filter of the log finds them', async () => {
    const { id: tenant, owner } = await service.newTenant('owner')
    const { key, id } = await mintKey(service.sql, { tenant, permissions: ['deal.write'], name: 'Nightly export' })
    await service.request('POST /v1/deals', { token: key, body: { customer_name: 'By a key' } })
    const { body } = await get(owner.token, `GET /v1/audit-log?actor=${id}`)
    expect(body.data).toMatchObject([{ action: 'deal.created', actor: { type: 'key', id, name: 'Nightly export' } }])
    const events = await service.sql`
      select action, actor_user_id, actor_key_id from app.events where tenant_id = ${tenant} and action like 'deal%'`
    expect(events).toEqual([{ action: 'deal.created', actor_user_id: null, actor_key_id: id }])
  })

  it('is not taken on a route for a session, for any member or with a permission that no key may hold', async () => {
    const { id: tenant } = await service.newTenant('owner')
    const { key } = await mintKey(service.sql, { tenant, permissions: ['deal.read', 'company.read'] })
    for (const route of ['GET /v1/auth/tenants', 'GET /v1/roles', 'GET /v1/members'])
      expect(await get(key, route), route).toMatchObject({ status: 403, body: { type: 'about:blank' } })
    expect((await get(key, 'GET /v1/auth/session')).status).toBe(401)
  })

  it('is 429 over its limit, which other keys of the tenant do not share', async () => {
    const { id: tenant } = await service.newTenant('owner')
    const one = await mintKey(service.sql, { tenant, permissions: ['deal.read'] })
    const other = await mintKey(service.sql, { tenant, permissions: ['deal.read'] })
    const statuses = []
    for (let n = 0; n < 5; n += 1) statuses.push((await get(one.key)).status)
    expect(statuses).toEqual([200, 200, 200, 200, 200])
    let refused = await get(one.key)
    // A new minute may begin between two requests.
    for (let n = 0; n < 12 && refused.status === 200; n += 1) refused = await get(one.key)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(refused.headers.get('ratelimit-policy')).toBe('"api-key";q=5;w=60')
    expect(refused.headers.get('ratelimit')).toMatch(/^"api-key";r=0;t=\d+$/)
    expect((await get(other.key)).status).toBe(200)
  })

  it('has the time of its last use, to the minute', async () => {
    const { id: tenant } = await service.newTenant('owner')
    const { key, id } = await mintKey(service.sql, { tenant, permissions: ['deal.read'] })
    const used = async () =>
      (await service.sql`select last_used_at as at from app.api_keys where id = ${id}`)[0]?.['at']
    expect(await used()).toBeNull()
    await get(key)
    const first = await used()
    await get(key)
    expect(await used()).toEqual(first)
    await service.sql`update app.api_keys set last_used_at = last_used_at - interval '61 seconds' where id = ${id}`
    await get(key)
    expect((await used()) >= first).toBe(true)
  })
})

describe('a key that is not live', () => {
  it.each([
    ['revoked', `revoked_at = now()`],
    ['expired a second ago', `expires_at = now() - interval '1 second'`],
  ])('is 401 when it is %s', async (_, change) => {
    const { id: tenant } = await service.newTenant('owner')
    const { key, id } = await mintKey(service.sql, { tenant, permissions: ['deal.read'] })
    await service.sql.unsafe(`update app.api_keys set ${change} where id = '${id}'`)
    expect((await get(key)).status).toBe(401)
    expect((await get(key, 'GET /v1/members')).status).toBe(401)
  })

  it('lives until the second of its expiry', async () => {
    const { id: tenant } = await service.newTenant('owner')
    const { key, id } = await mintKey(service.sql, { tenant, permissions: ['deal.read'] })
    await service.sql`update app.api_keys set expires_at = now() + interval '60 seconds' where id = ${id}`
    expect((await get(key)).status).toBe(200)
  })

  it('is 401 while its tenant is suspended, and lives again when the tenant does', async () => {
    const { id: tenant } = await service.newTenant('owner')
    const { key } = await mintKey(service.sql, { tenant, permissions: ['deal.read'] })
    for (const [change, status] of [
      [`status = 'suspended'`, 401],
      [`status = 'cancelled'`, 401],
      [`status = 'past_due'`, 200],
      [`deleted_at = now()`, 401],
      [`deleted_at = null`, 200],
    ] as const) {
      await service.sql.unsafe(`update app.tenants set ${change} where id = '${tenant}'`)
      expect((await get(key)).status, change).toBe(status)
    }
  })

  it('is 401 without a call of the database when its checksum is wrong', async () => {
    const key = newApiKey()
    const wrong = key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a')
    await service.sql`alter function app.authenticate_key rename to authenticate_key_gone`
    try {
      expect((await get(wrong)).status).toBe(401)
      expect((await get(key)).status).toBe(500)
    } finally {
      await service.sql`alter function app.authenticate_key_gone rename to authenticate_key`
    }
  })

  it('is no credential in any other place than alone in a bearer header', async () => {
    const { id: tenant } = await service.newTenant('owner')
    const { key } = await mintKey(service.sql, { tenant, permissions: ['deal.read'] })
    const basic = Buffer.from(`${key}:`).toString('base64')
    for (const authorization of [key, `Basic ${basic}`, `Token ${key}`, `Bearer ${key} `, `Bearer ${key}=`])
      expect((await service.request('GET /v1/deals', { headers: { authorization } })).status, authorization).toBe(
        authorization === `Bearer ${key} ` ? 200 : 401,
      )
    const elsewhere: Record<string, string>[] = [{ 'x-api-key': key }, { cookie: `__Host-tenantry-session=${key}` }]
    for (const headers of elsewhere) expect((await service.request('GET /v1/deals', { headers })).status).toBe(401)
  })
})

describe('a rotated key', () => {
  it('is valid until the overlap ends, and the new one from now on', async () => {
    const { id: tenant } = await service.newTenant('owner')
    const before = await mintKey(service.sql, { tenant, permissions: ['deal.read', 'deal.write'] })
    const key = newApiKey()
    const overlap = (interval: string) =>
      service.sql.unsafe(
        `update app.api_keys set previous_expires_at = now() + interval '${interval}' where id = '${before.id}'`,
      )
    await service.sql`
      update app.api_keys set previous_hash = key_hash, previous_expires_at = now() + interval '1 day', generation = 1,
                              key_hash = ${hashToken(PEPPER, key)} where id = ${before.id}`
    const write = (token: string) => service.request('POST /v1/deals', { token, body: { customer_name: 'One' } })
    expect((await get(before.key)).status).toBe(200)
    expect((await write(before.key)).status).toBe(200)
    expect((await write(key)).status).toBe(200)
    await overlap('-1 second')
    expect((await get(before.key)).status).toBe(401)
    expect((await get(key)).status).toBe(200)
  })
})
