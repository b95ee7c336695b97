import { beforeAll, describe, expect, it } from 'vitest'
import { isOpenToKeys, isTenantAccess, requiresPrincipal } from '#shared/http/access.ts'
import { mayKeysHold, PERMISSIONS } from '#shared/identity/permissions.ts'
import { newApiKey } from '#shared/secret/api-key.ts'
import { hashToken } from '#shared/secret/secret.ts'
import { expectContract, indistinguishable } from '#tests/support/expect-answer.ts'
import { mintKey, type MintedKey } from '#tests/support/minted-key.ts'
import { createTenant, createUser, tenantId } from '#tests/support/minted-session.ts'
import { type Route, routes, takesId, withId, withUnknownId } from '#tests/support/routes.ts'
import { makeResource, sampleBody, sampleQuery } from '#tests/support/samples.ts'
import { type Answer, PEPPER } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

// Every route × an API key. tests/guarantees/contract/access.test.ts has every route × no credential and a session of each role.

const SLUG = 'acme-print'
const HELD = PERMISSIONS.filter((permission) => mayKeysHold(permission))
const SHOWS_SESSION = 'GET /v1/auth/session'

const guarded = routes.filter(({ endpoint }) => requiresPrincipal(endpoint.access))
const opened = guarded.filter(({ endpoint }) => isOpenToKeys(endpoint))
const byPermission = opened.filter(({ endpoint: { access } }) => isTenantAccess(access))
const closed = guarded.filter(({ endpoint }) => !isOpenToKeys(endpoint))
const others = routes.filter(({ endpoint }) => !requiresPrincipal(endpoint.access))

const service = useService({ env: { API_KEY_LIMIT: '1000000', API_KEY_REVOKE_LIMIT: '1000000' } })
let tenant: string
let every: MintedKey
const single = new Map<string, string>()
/** Keys that ended, by how each did. */
const dead: Record<string, string> = {}
let rotated: { readonly current: string; readonly previous: string }

beforeAll(async () => {
  tenant = await tenantId(service.sql, SLUG)
  every = await mintKey(service.sql, { tenant, permissions: HELD })
  for (const permission of HELD)
    single.set(permission, (await mintKey(service.sql, { tenant, permissions: [permission] })).key)
  rotated = await rotate(await mintKey(service.sql, { tenant, permissions: HELD }), 'beside')
  await endKeys()
})

/** Gives a key a new secret. The previous one is valid for an hour more, or no longer. */
async function rotate({ id, key }: MintedKey, overlap: 'beside' | 'over') {
  const current = newApiKey()
  await service.sql`
    update app.api_keys
       set key_hash = ${hashToken(PEPPER, current)}, previous_hash = key_hash, generation = generation + 1, rotated_at = now(),
           previous_expires_at = case when ${overlap} = 'over' then now() - interval '1 second' else now() + interval '1 hour' end
     where id = ${id}`
  return { current, previous: key }
}

async function endKeys(): Promise<void> {
  const { sql } = service
  const ends: Record<string, (key: MintedKey, slug: string) => PromiseLike<unknown>> = {
    expired: ({ id }) => sql`update app.api_keys set expires_at = now() - interval '1 second' where id = ${id}`,
    revoked: ({ id }) => sql`update app.api_keys set revoked_at = now() where id = ${id}`,
    'rotated, after the overlap': (key) => rotate(key, 'over'),
    'of a suspended tenant': (_, slug) => sql`update app.tenants set status = 'suspended' where slug = ${slug}`,
    'of a cancelled tenant': (_, slug) => sql`update app.tenants set status = 'cancelled' where slug = ${slug}`,
    'of a deleted tenant': (_, slug) => sql`update app.tenants set deleted_at = now() where slug = ${slug}`,
  }
  for (const [how, end] of Object.entries(ends)) {
    const slug = `keys-${Object.keys(dead).length}`
    await createTenant(sql, slug)
    await createUser(sql, { email: `${slug}@keys.test`, slugs: [slug] })
    const key = await mintKey(sql, { tenant: await tenantId(sql, slug), permissions: HELD })
    const alive = await service.request('GET /v1/api-keys/current', { token: key.key })
    if (alive.status !== 200) throw new Error(`the key ${how} was not live before`)
    await end(key, slug)
    dead[how] = key.key
  }
  dead['never made'] = newApiKey()
  dead['with a wrong checksum'] = every.key.slice(0, -1) + (every.key.endsWith('a') ? 'b' : 'a')
}

/** Calls a route with a sample body and an id that nothing has. */
const call = (route: Route, token: string): Promise<Answer> =>
  service.request(`${route.endpoint.method} ${withUnknownId(route.endpoint.path)}${sampleQuery(route)}`, {
    token,
    body: sampleBody(route),
  })

const permissionOf = ({ endpoint: { access } }: Route): string =>
  (isTenantAccess(access) ? access.permission : null) ?? ''

describe('an API key', () => {
  it('opens the routes of shop data, and none that decides who has access or what is approved', () => {
    const groups = new Set(opened.map(({ group }) => group))
    for (const group of ['api-keys', 'catalog', 'deals', 'designs', 'tenant']) expect(groups).toContain(group)
    for (const group of ['auth', 'members', 'roles', 'vendor-accounts', 'audit-log'])
      expect(groups).not.toContain(group)
    expect(opened.filter(({ group }) => group === 'api-keys').map(({ name }) => name)).toEqual([
      'GET /v1/api-keys/current',
    ])
    for (const { name } of opened) expect(name).not.toMatch(/approve|members|roles|vendor-accounts|PATCH \/v1\/tenant/)
  })

  it.each(byPermission)('$name accepts exactly the keys that hold its permission', async (route) => {
    const admitted: string[] = []
    for (const [permission, key] of single) {
      const answer = await call(route, key)
      expectContract(answer, tenant)
      expect([401, 500, 502, 503], permission).not.toContain(answer.status)
      if (answer.status === 403) expect(answer.body.type, permission).toBe('about:blank')
      else admitted.push(permission)
    }
    expect(admitted).toEqual([permissionOf(route)])
    for (const key of [every.key, rotated.current, rotated.previous])
      expect([401, 403]).not.toContain((await call(route, key)).status)
  })

  it.each(closed)('$name refuses a key with every permission that keys may hold', async (route) => {
    const answer = await call(route, every.key)
    expect(answer.status).toBe(route.name === SHOWS_SESSION ? 401 : 403)
    expect(answer.body.type).toBe('about:blank')
    expect(answer.body.detail).toBeUndefined()
  })

  it.each(guarded)('$name refuses every dead key with the same 401', async (route) => {
    const expected = indistinguishable(await call(route, newApiKey()))
    expect(expected).toMatchObject({ status: 401 })
    for (const [how, key] of Object.entries(dead)) {
      const answer = await call(route, key)
      expectContract(answer, null)
      expect(indistinguishable(answer), how).toEqual(expected)
    }
  })

  it.each(others)('$name takes a key for no credential of its own', async (route) => {
    const answer = await call(route, every.key)
    expect(answer.status).toBe((await call(route, 'no credential')).status)
    if (route.endpoint.access === 'service') expect(answer.status).toBe(401)
    expect(answer.headers.get('x-tenant-id')).toBeNull()
  })

  it.each(byPermission.filter(({ endpoint }) => takesId(endpoint.path)))(
    '$name returns 404 to a key for a resource of another tenant',
    async (route) => {
      const ids = await makeResource(service, route.endpoint.path, 'bolt-apparel')
      const answer = await service.request(
        `${route.endpoint.method} ${withId(route.endpoint.path, ids)}${sampleQuery(route)}`,
        { token: every.key, body: sampleBody(route, ids) },
      )
      expect(answer.status).toBe(404)
      expectContract(answer, tenant)
    },
  )
})
