import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { takesKey } from '#shared/http/once.ts'
import type { TestTenant } from '#tests/support/minted-session.ts'
import { expectProblem } from '#tests/support/expect-answer.ts'
import { type Ids, type Route, routes, withId } from '#tests/support/routes.ts'
import { makeResource, sampleBody } from '#tests/support/samples.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()
const keyed = routes.filter(({ endpoint }) => takesKey(endpoint))
const others = routes.filter(({ endpoint }) => endpoint.method === 'POST' && !takesKey(endpoint))

interface Setting {
  readonly tenant: TestTenant<'owner'>
  readonly ids: Ids
}

async function prepare({ endpoint: { path, body } }: Route): Promise<Setting> {
  const tenant = await service.newTenant('owner')
  const fields = JSON.stringify(body)
  const of = path.includes('{') ? path : fields.includes('vendor_account_id') ? '/v1/vendor-accounts/{id}' : null
  const made: Ids = of === null ? { id: '' } : await makeResource(service, of, tenant.slug)
  return { tenant, ids: { vendor_account_id: made.id, ...made } }
}

const send = (route: Route, { tenant, ids }: Setting, headers: Record<string, string>, token = tenant.owner.token) =>
  service.request(`POST ${withId(route.endpoint.path, ids)}`, { token, body: sampleBody(route, ids), headers })

/** Counts all that a request of the tenant may leave. */
async function traces({ tenant }: Setting) {
  const [row] = await service.sql`
    select (select count(*) from app.audit_log where tenant_id = ${tenant.id})::int as entries,
           (select count(*) from app.jobs where tenant_id = ${tenant.id})::int as jobs,
           (select count(*) from app.tokens where tenant_id = ${tenant.id})::int as tokens`
  return row
}

describe('Idempotency-Key', () => {
  it('is taken by each POST that creates something in a tenant', () => {
    const names = keyed.map(({ name }) => name).join()
    for (const created of ['deals', 'designs', 'roles', 'members/invite', 'vendor-accounts', 'catalog/sync-runs'])
      expect(names).toContain(`POST /v1/${created}`)
    expect(others.length).toBeGreaterThan(0)
  })

  it.each(keyed)('$name runs once for one key, and a retry gets the same reply', async (route) => {
    const setting = await prepare(route)
    const key = { 'idempotency-key': randomUUID() }
    const first = await send(route, setting, key)
    expect(first.status).toBe(200)
    expect(first.headers.get('idempotency-replayed')).toBeNull()
    const left = await traces(setting)
    const again = await send(route, setting, { 'idempotency-key': `"${key['idempotency-key']}"` })
    expect([again.status, again.text]).toEqual([200, first.text])
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(again.headers.get('etag')).toBe(first.headers.get('etag'))
    expect(again.headers.get('x-tenant-id')).toBe(setting.tenant.id)
    expect(await traces(setting)).toEqual(left)
  })

  const invite = (tenant: TestTenant<'owner'>, email: string, headers: Record<string, string>, role = 'sales') =>
    service.request('POST /v1/members/invite', { token: tenant.owner.token, body: { email, role }, headers })
  const design = (token: string, name: string, key: string) =>
    service.request('POST /v1/designs', { token, body: { name }, headers: { 'idempotency-key': key } })

  it('refuses a key that was sent with another request, and changes nothing', async () => {
    const tenant = await service.newTenant('owner')
    const { token } = tenant.owner
    expect((await design(token, 'one', 'key-1')).status).toBe(200)
    const left = await traces({ tenant, ids: { id: '' } })
    expectProblem(await design(token, 'two', 'key-1'), 'idempotency-key-reused')
    expectProblem(await invite(tenant, 'a@shops.test', { 'idempotency-key': 'key-1' }), 'idempotency-key-reused')
    expect(await traces({ tenant, ids: { id: '' } })).toEqual(left)
  })

  it('runs one of ten requests with one key at the same time', async () => {
    for (const send of [
      (tenant: TestTenant<'owner'>) => design(tenant.owner.token, 'raced', 'race'),
      (tenant: TestTenant<'owner'>) => invite(tenant, 'raced@shops.test', { 'idempotency-key': 'race' }),
    ]) {
      const tenant = await service.newTenant('owner')
      const replies = await Promise.all(Array.from({ length: 10 }, () => send(tenant)))
      expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
      expect(replies.filter(({ headers }) => headers.get('idempotency-replayed') === null)).toHaveLength(1)
      expect(await traces({ tenant, ids: { id: '' } })).toMatchObject({ entries: 1 })
    }
  })

  it('keeps the keys of two users, and of two tenants, apart', async () => {
    const [one, two] = [await service.newTenant('owner', 'sales'), await service.newTenant('owner')]
    const tokens = [one.owner.token, one.sales.token, two.owner.token]
    const ids = await Promise.all(tokens.map(async (token) => (await design(token, 'same', 'shared')).body.id))
    expect(new Set(ids).size).toBe(3)
  })

  it('runs again after a failure, and after 24 hours', async () => {
    const tenant = await service.newTenant('owner')
    const key = { 'idempotency-key': 'again' }
    expect((await invite(tenant, 'a@shops.test', key, 'no-such-role')).status).toBe(422)
    const first = await invite(tenant, 'a@shops.test', key)
    expect(first.status).toBe(200)
    const at = (age: string) =>
      service.sql`update app.replies set created_at = now() - ${age}::interval where tenant_id = ${tenant.id}`
    await at('23 hours 59 minutes')
    expect((await invite(tenant, 'a@shops.test', key)).headers.get('idempotency-replayed')).toBe('true')
    await at('24 hours 1 minute')
    const anew = await invite(tenant, 'a@shops.test', key)
    expect([anew.status, anew.headers.get('idempotency-replayed')]).toEqual([200, null])
  })

  it('replays nothing to a session that has ended, or to a role that lost the permission', async () => {
    const tenant = await service.newTenant('owner', 'designer')
    const { token } = tenant.designer
    expect((await design(token, 'mine', 'mine')).status).toBe(200)
    await service.sql`
      update app.memberships set role_id = (select id from app.roles where code = 'viewer')
       where tenant_id = ${tenant.id} and user_id = ${tenant.designer.userId}`
    expect((await design(token, 'mine', 'mine')).status).toBe(403)
    await service.request('DELETE /v1/auth/session', { token })
    expect((await design(token, 'mine', 'mine')).status).toBe(401)
  })

  it.each(['', ' ', 'two words', 'ключ', 'a'.repeat(256), '"unclosed', '{}'])(
    'refuses the malformed key %j',
    async (key) => {
      const tenant = await service.newTenant('owner')
      const encoded = Buffer.from(key).toString('latin1')
      expectProblem(await design(tenant.owner.token, 'never', encoded), 'validation-failed')
      expect(await traces({ tenant, ids: { id: '' } })).toMatchObject({ entries: 0 })
    },
  )

  it.each(others)('$name ignores a key', async ({ name }) => {
    const sent = () =>
      service.request(name.replaceAll(/\{\w+\}/g, randomUUID()), { headers: { 'idempotency-key': '{}' } })
    expect((await sent()).text).not.toContain('idempotency')
  })
})
