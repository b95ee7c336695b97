import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { isTenantAccess } from '#shared/http/access.ts'
import { createUser, mintSession, tenantId } from '#tests/support/minted-session.ts'
import {
  fieldsOf,
  type Ids,
  type Route,
  routes,
  takesId,
  withId,
  unknownId,
  withUnknownId,
} from '#tests/support/routes.ts'
import { rounds } from '#tests/support/rounds.ts'
import { makeResource, sampleBody, sampleQuery } from '#tests/support/samples.ts'
import { type Answer, startService, type TestService } from '#tests/support/service.ts'

const TENANT = 'acme-print'
const OTHER_TENANT = 'bolt-apparel'
const ROLES = ['owner', 'admin', 'sales', 'account', 'designer', 'production', 'viewer']
const CANARY = 'Zanzibar Canary'

const withIds = routes.filter(({ endpoint }) => takesId(endpoint.path))

let service: TestService
/** Every text and id in rows of the other tenant that is in no row of this tenant, from every table. */
let foreign: string[]
let resources: Map<string, Ids>

beforeAll(async () => {
  service = await startService()
  const { admin } = service.database
  const other = await tenantId(admin, OTHER_TENANT)
  // Each tenant has a style of its own with the style number of a platform's style.
  for (const [slug, name] of [
    [TENANT, 'Own Heavy Tee'],
    [OTHER_TENANT, `${CANARY} Heavy Tee`],
  ] as const) {
    await admin`
      insert into app.styles (tenant_id, style_number, name, brand, category, vendors)
      values (${await tenantId(admin, slug)}, '2000', ${name}, ${`${slug} brand`}, 'Tees', '{}')`
  }
  await admin`
    update app.tenants set legal_name = ${`${CANARY} Ltd`}, settings = ${admin.json({ motto: `${CANARY} motto` })}
     where id = ${other}`
  await createUser(admin, { email: 'canary@bolt.test', role: 'sales', slugs: [OTHER_TENANT] })
  await admin`update app.users set full_name = ${`${CANARY} Person`} where email = 'canary@bolt.test'`
  await fillThroughApi(OTHER_TENANT)
  await fillThroughApi(TENANT)
  resources = new Map()
  for (const { endpoint } of withIds) {
    if (!resources.has(endpoint.path)) {
      resources.set(endpoint.path, await makeResource(service, endpoint.path, OTHER_TENANT))
      // So that the examples of the API document are no values of the other tenant alone.
      await makeResource(service, endpoint.path, TENANT)
    }
  }
  foreign = await valuesOnlyOf(other)
})
afterAll(() => service.close())

const owner = (slug: string) =>
  mintSession(service.database.admin, { email: slug === TENANT ? 'owner@acme.test' : 'owner@bolt.test', slug })

/** Calls every POST route as the tenant's owner. */
async function fillThroughApi(slug: string): Promise<void> {
  for (const route of routes.filter(({ endpoint }) => endpoint.method === 'POST' && !takesId(endpoint.path))) {
    const { token } = await owner(slug)
    await service.request(route.name, { token, body: sampleBody(route) })
  }
}

/** Returns the tenant tables with the column of the tenant's id. */
async function tenantTables(): Promise<{ name: string; column: string }[]> {
  return service.database.admin<{ name: string; column: string }[]>`
    select format('%I.%I', c.table_schema, c.table_name) as name, c.column_name as column
      from information_schema.columns c
      join pg_class r on r.oid = format('%I.%I', c.table_schema, c.table_name)::regclass
     where c.table_schema = 'app' and r.relkind in ('r', 'p') and not r.relispartition
       and (c.column_name = 'tenant_id' or (c.table_name = 'tenants' and c.column_name = 'id'))`
}

async function rowsOf(tenant: string): Promise<Record<string, unknown>[]> {
  const { admin } = service.database
  const rows: Record<string, unknown>[] = []
  for (const { name, column } of await tenantTables()) {
    const found = await admin.unsafe<{ row: Record<string, unknown> }[]>(
      `select to_jsonb(t) as row from ${name} t where t.${column} = $1`,
      [tenant],
    )
    rows.push(...found.map(({ row }) => row))
  }
  const people = await admin<{ row: Record<string, unknown> }[]>`
    select to_jsonb(u) - 'password_hash' as row from app.users u
     where exists (select from app.memberships m where m.user_id = u.id and m.tenant_id = ${tenant})`
  return [...rows, ...people.map(({ row }) => row)]
}

function valuesIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(valuesIn)
}

/** Returns the values in rows of one tenant alone. Any of them in a response to another tenant is a leak. */
async function valuesOnlyOf(tenant: string): Promise<string[]> {
  const tenants = await service.database.admin<{ id: string }[]>`select id from app.tenants where id <> ${tenant}`
  const others = (await Promise.all(tenants.map(({ id }) => rowsOf(id)))).flat()
  const platform = await service.database.admin<{ row: unknown }[]>`
    select to_jsonb(s) as row from app.styles s where s.tenant_id is null`
  const shared = new Set([...others, ...platform.map(({ row }) => row)].flatMap(valuesIn))
  // Short words and times prove nothing: every tenant's responses contain them.
  const telling = (await rowsOf(tenant))
    .flatMap(valuesIn)
    .filter((text) => text.length >= 8 && !/^\d{4}-\d\d-\d\d/.test(text) && !shared.has(text))
  return [...new Set(telling)]
}

/** Returns all rows of a tenant as text. Of sessions, which change with each request, only the live ids. */
async function stateOf(tenant: string): Promise<string> {
  const { admin } = service.database
  const parts: string[] = []
  for (const { name, column } of await tenantTables()) {
    if (name === 'app.sessions') continue
    const [state] = await admin.unsafe(
      `select coalesce(string_agg(to_jsonb(t)::text, ',' order by to_jsonb(t)::text), '') as text
         from ${name} t where t.${column} = $1`,
      [tenant],
    )
    parts.push(`${name}: ${state?.['text']}`)
  }
  const [live] = await admin`
    select string_agg(s.id::text, ',' order by s.id) as ids from app.sessions s
     where s.tenant_id = ${tenant} and s.revoked_at is null`
  return `${parts.join('\n')}\n${live?.['ids']}`
}

/** Returns query strings that could widen what a route shows: none, canary words, and parser traps. */
function searches({ endpoint }: Route): string[] {
  if (endpoint.query === null) return [`?q=${CANARY}&tenant_id=${foreignIds('').id}`]
  const names = new Set(fieldsOf(endpoint.query).map(({ name }) => name))
  const texts = [CANARY, 'Zanzibar', '2000', 'Heavy', 'bolt', "' or '1'='1", '%', '_', 'a or b', '-a', 'a" or "b', '"']
  return [
    '',
    ...(names.has('limit') ? ['?limit=100', '?limit=1'] : []),
    ...(names.has('q') ? texts.map((text) => `?limit=100&q=${encodeURIComponent(text)}`) : []),
    ...(names.has('status') ? ['?status=active,invited,revoked', '?status=revoked&limit=100'] : []),
    ...(names.has('cursor')
      ? ['', '2000', CANARY].map((from) => `?limit=100&cursor=${encodeCursor([from, foreignIds(endpoint.path).id])}`)
      : []),
  ]
}

const encodeCursor = (key: unknown): string => Buffer.from(JSON.stringify(key)).toString('base64url')
const foreignIds = (path: string): Ids => resources.get(path) ?? { id: '00000000-0000-0000-0000-000000000000' }

/**
 * Returns who calls a route, and with which search: each role and a session without a tenant with the first search,
 * and the owner with each. The slow project combines them all.
 */
function callers(route: Route): { role: string; slug: string | null; search: string }[] {
  const [first = '', ...others] = searches(route)
  const roles = (slug: string | null, search: string) => ROLES.map((role) => ({ role, slug, search }))
  const ownerWith = (search: string) => ({ role: 'owner', slug: TENANT, search })
  const everyone = (search: string) => [...roles(TENANT, search), ...roles(null, search)]
  return [
    ...everyone(first),
    ...others.flatMap((search) => (inject('thorough') ? everyone(search) : ownerWith(search))),
  ]
}

/** Returns the values of the other tenant in a response. */
function leaks({ text, headers }: Answer): string[] {
  const seen = `${text}\n${JSON.stringify([...headers])}`
  return foreign.filter((value) => seen.includes(value) || seen.includes(JSON.stringify(value).slice(1, -1)))
}

describe('the search for leaks', () => {
  it('finds values of the other tenant in a response to that tenant', async () => {
    expect(foreign).toEqual(
      expect.arrayContaining([
        `${CANARY} Ltd`,
        `${CANARY} motto`,
        `${CANARY} Heavy Tee`,
        `${CANARY} Person`,
        'canary@bolt.test',
        OTHER_TENANT,
        await tenantId(service.database.admin, OTHER_TENANT),
      ]),
    )
    const { token } = await owner(OTHER_TENANT)
    const own = await service.request(`GET /v1/catalog/styles?q=${CANARY}`, { token })
    expect(own.body.data.map(({ name }: { name: string }) => name)).toEqual([`${CANARY} Heavy Tee`])
    expect(leaks(own)).toEqual(expect.arrayContaining([`${CANARY} Heavy Tee`, `${OTHER_TENANT} brand`]))
  })
})

describe('guarantee 1: a request of one tenant sees nothing of another', () => {
  it.each(routes)('$name shows no value of another tenant, to any role and with any search', async (route) => {
    for (const { role, slug, search } of callers(route)) {
      // A new session for each request, because some routes end it.
      const { token } = await mintSession(service.database.admin, { email: `${role}@acme.test`, slug })
      const path = `${withUnknownId(route.endpoint.path)}${search}`
      const response = await service.request(`${route.endpoint.method} ${path}`, { token, body: sampleBody(route) })
      expect(response.status).toBeLessThan(500)
      expect(leaks(response), `${role}: ${path}`).toEqual([])
    }
  })

  it('shows a tenant the platform’s rows and its own', async () => {
    const names = async (slug: string): Promise<string[]> => {
      const { token } = await owner(slug)
      const { body } = await service.request('GET /v1/catalog/styles?q=2000&limit=100', { token })
      return body.data.map(({ brand, name }: { brand: string; name: string }) => `${brand}: ${name}`)
    }
    const [own, other] = [await names(TENANT), await names(OTHER_TENANT)]
    expect(own.filter((name) => name.startsWith('acme-print brand: Own Heavy Tee'))).toHaveLength(1)
    expect(other.filter((name) => name.startsWith(`bolt-apparel brand: ${CANARY}`))).toHaveLength(1)
    const platform = own.filter((name) => name.startsWith('Gildan'))
    expect(platform.length).toBeGreaterThan(0)
    expect(other.filter((name) => name.startsWith('Gildan'))).toEqual(platform)
  })

  it('keeps concurrent requests of two tenants apart on shared connections', async () => {
    const [acme, bolt] = [await owner(TENANT), await owner(OTHER_TENANT)]
    const ids = { [acme.token]: await tenantId(service.database.admin, TENANT), [bolt.token]: '' }
    ids[bolt.token] = await tenantId(service.database.admin, OTHER_TENANT)
    const responses = await Promise.all(
      [...rounds(400)].map(async (index) => {
        const token = index % 3 === 0 ? bolt.token : acme.token
        const route = index % 2 === 0 ? 'GET /v1/catalog/styles?q=2000&limit=100' : 'GET /v1/auth/session'
        return { token, response: await service.request(route, { token }) }
      }),
    )
    for (const { token, response } of responses) {
      expect(response.status).toBe(200)
      expect(response.headers.get('x-tenant-id')).toBe(ids[token])
      if (token === acme.token) expect(leaks(response)).toEqual([])
    }
  })
})

describe('guarantee 8: another tenant’s resource looks like one that does not exist', () => {
  it.each(withIds)('$name gives the same bytes for its id as for a random one, and changes nothing', async (route) => {
    const other = await tenantId(service.database.admin, OTHER_TENANT)
    const before = await stateOf(other)
    for (const slug of [TENANT, null]) {
      const { token } = await mintSession(service.database.admin, { email: 'owner@acme.test', slug })
      const requestId = randomUUID()
      const request = (ids: Ids) =>
        service.request(`${route.endpoint.method} ${withId(route.endpoint.path, ids)}${sampleQuery(route)}`, {
          token,
          body: sampleBody(route, ids),
          headers: { 'x-request-id': requestId },
        })
      const [theirs, random] = [
        await request(foreignIds(route.endpoint.path)),
        await request({ id: unknownId(route.endpoint.path) }),
      ]
      const expected = slug === null && isTenantAccess(route.endpoint.access) ? 403 : 404
      expect(theirs.status).toBe(expected)
      expect(theirs.text).toBe(random.text)
      const headers = ({ headers }: Answer) => [...headers].filter(([name]) => name !== 'date')
      expect(headers(theirs)).toEqual(headers(random))
    }
    expect(await stateOf(other)).toBe(before)
  })

  it.each(withIds)('$name finds the same resource in its own tenant', async (route) => {
    const ids = await makeResource(service, route.endpoint.path, TENANT)
    const [holder] = await service.database.admin<{ email: string }[]>`
      select email from app.users where id in (select user_id from app.sessions where id::text = ${ids.id}
                                               union all select user_id from app.factors where id::text = ${ids.id})`
    // One of several owners: the route may end the membership.
    const email = holder?.email ?? `finder-${route.endpoint.method}-${withIds.indexOf(route)}@acme.test`.toLowerCase()
    if (holder === undefined) await createUser(service.database.admin, { email, slugs: [TENANT] })
    const { id, token } = await mintSession(service.database.admin, { email, slug: TENANT })
    // A step-up is newer than the sign-in.
    await service.database.admin`update app.sessions set created_at = created_at - interval '1 minute' where id = ${id}`
    const response = await service.request(
      `${route.endpoint.method} ${withId(route.endpoint.path, ids)}${sampleQuery(route)}`,
      { token, body: sampleBody(route, ids) },
    )
    expect(response.status, response.text).toBeLessThan(300)
  })
})
