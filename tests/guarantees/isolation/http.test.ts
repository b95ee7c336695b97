import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isTenantAccess } from '#shared/http/endpoint.ts'
import { createUser, mintSession, tenantId } from '#tests/support/minted-session.ts'
import { fieldsOf, type Route, routes, takesId, withId } from '#tests/support/routes.ts'
import { makeResource, sampleBody } from '#tests/support/samples.ts'
import { type Answer, startService, type TestService } from '#tests/support/service.ts'

const SHOP = 'acme-print'
const OTHER_SHOP = 'bolt-apparel'
const ROLES = ['owner', 'admin', 'sales', 'account', 'designer', 'production', 'viewer']
const CANARY = 'Zanzibar Canary'

const withIds = routes.filter(({ endpoint }) => takesId(endpoint.path))

let service: TestService
/** Every text, id and number of the other shop's rows, of whatever table, that is in no row of this shop. */
let foreign: string[]
let resources: Map<string, string>

beforeAll(async () => {
  service = await startService()
  const { admin } = service.database
  const other = await tenantId(admin, OTHER_SHOP)
  // A style of each shop's own, under the number that the platform's style has, too.
  for (const [slug, name] of [
    [SHOP, 'Own Heavy Tee'],
    [OTHER_SHOP, `${CANARY} Heavy Tee`],
  ] as const) {
    await admin`
      insert into app.styles (tenant_id, style_number, name, brand, category, vendors)
      values (${await tenantId(admin, slug)}, '2000', ${name}, ${`${slug} brand`}, 'Tees', '{}')`
  }
  await admin`
    update app.tenants set legal_name = ${`${CANARY} Ltd`}, settings = ${admin.json({ motto: `${CANARY} motto` })}
     where id = ${other}`
  await createUser(admin, { email: 'canary@bolt.test', role: 'sales', slugs: [OTHER_SHOP] })
  await admin`update app.users set full_name = ${`${CANARY} Person`} where email = 'canary@bolt.test'`
  await fillThroughApi(OTHER_SHOP)
  await fillThroughApi(SHOP)
  resources = new Map()
  for (const { endpoint } of withIds) {
    if (!resources.has(endpoint.path)) {
      resources.set(endpoint.path, await makeResource(service, endpoint.path, OTHER_SHOP))
    }
  }
  foreign = await valuesOnlyOf(other)
})
afterAll(() => service.close())

const owner = (slug: string) =>
  mintSession(service.database.admin, { email: slug === SHOP ? 'owner@acme.test' : 'owner@bolt.test', slug })

/** Lets a shop's owner create whatever there is to create. */
async function fillThroughApi(slug: string): Promise<void> {
  for (const route of routes.filter(({ endpoint }) => endpoint.method === 'POST' && !takesId(endpoint.path))) {
    const { token } = await owner(slug)
    await service.request(route.name, { token, body: sampleBody(route) })
  }
}

/** The tables that hold rows of tenants, and the column that says whose they are. */
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

/** What is said of one tenant and of no other: whatever of it is in an answer to another tenant has leaked. */
async function valuesOnlyOf(tenant: string): Promise<string[]> {
  const tenants = await service.database.admin<{ id: string }[]>`select id from app.tenants where id <> ${tenant}`
  const others = (await Promise.all(tenants.map(({ id }) => rowsOf(id)))).flat()
  const platform = await service.database.admin<{ row: unknown }[]>`
    select to_jsonb(s) as row from app.styles s where s.tenant_id is null`
  const shared = new Set([...others, ...platform.map(({ row }) => row)].flatMap(valuesIn))
  // Short words and times are no proof: they are in the answers of anyone.
  const telling = (await rowsOf(tenant))
    .flatMap(valuesIn)
    .filter((text) => text.length >= 8 && !/^\d{4}-\d\d-\d\d/.test(text) && !shared.has(text))
  return [...new Set(telling)]
}

/** The bytes of the other shop's rows, but for the sessions, which end and slide. */
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

/** The searches of a route that could widen what it shows: none, the words of the canaries, what a parser may stumble on. */
function searches({ endpoint }: Route): string[] {
  if (endpoint.query === null) return [`?q=${CANARY}&tenant_id=${foreignId('')}`]
  const names = new Set(fieldsOf(endpoint.query).map(({ name }) => name))
  const texts = [CANARY, 'Zanzibar', '2000', 'Heavy', 'bolt', "' or '1'='1", '%', '_', 'a or b', '-a', 'a" or "b', '"']
  return [
    '',
    ...(names.has('limit') ? ['?limit=100', '?limit=1'] : []),
    ...(names.has('q') ? texts.map((text) => `?limit=100&q=${encodeURIComponent(text)}`) : []),
    ...(names.has('status') ? ['?status=active,invited,revoked', '?status=revoked&limit=100'] : []),
    ...(names.has('cursor')
      ? ['', '2000', CANARY].map((from) => `?limit=100&cursor=${encodeCursor([from, foreignId(endpoint.path)])}`)
      : []),
  ]
}

const encodeCursor = (key: unknown): string => Buffer.from(JSON.stringify(key)).toString('base64url')
const foreignId = (path: string): string => resources.get(path) ?? '00000000-0000-0000-0000-000000000000'

/** The values of the other shop that an answer holds. */
function leaks({ text, headers }: Answer): string[] {
  const seen = `${text}\n${JSON.stringify([...headers])}`
  return foreign.filter((value) => seen.includes(value) || seen.includes(JSON.stringify(value).slice(1, -1)))
}

describe('the sweep', () => {
  it('knows the other shop’s rows by their values, and would find one in an answer', async () => {
    expect(foreign).toEqual(
      expect.arrayContaining([
        `${CANARY} Ltd`,
        `${CANARY} motto`,
        `${CANARY} Heavy Tee`,
        `${CANARY} Person`,
        'canary@bolt.test',
        OTHER_SHOP,
        await tenantId(service.database.admin, OTHER_SHOP),
      ]),
    )
    const { token } = await owner(OTHER_SHOP)
    const own = await service.request(`GET /v1/catalog/styles?q=${CANARY}`, { token })
    expect(own.body.data.map(({ name }: { name: string }) => name)).toEqual([`${CANARY} Heavy Tee`])
    expect(leaks(own)).toEqual(expect.arrayContaining([`${CANARY} Heavy Tee`, `${OTHER_SHOP} brand`]))
  })
})

describe('guarantee 1: a request for one shop sees nothing of another', () => {
  it.each(routes)('$name shows no value of another shop, to any role and with any search', async (route) => {
    for (const role of ROLES) {
      for (const slug of [SHOP, null]) {
        for (const search of searches(route)) {
          // A session of its own each time, since some routes end it.
          const { token } = await mintSession(service.database.admin, { email: `${role}@acme.test`, slug })
          const path = `${withId(route.endpoint.path, randomUUID())}${search}`
          const answer = await service.request(`${route.endpoint.method} ${path}`, { token, body: sampleBody(route) })
          expect(answer.status).toBeLessThan(500)
          expect(leaks(answer), `${role}: ${path}`).toEqual([])
        }
      }
    }
  })

  it('a shop sees the platform’s rows and its own side by side', async () => {
    const names = async (slug: string): Promise<string[]> => {
      const { token } = await owner(slug)
      const { body } = await service.request('GET /v1/catalog/styles?q=2000&limit=100', { token })
      return body.data.map(({ brand, name }: { brand: string; name: string }) => `${brand}: ${name}`)
    }
    const [own, other] = [await names(SHOP), await names(OTHER_SHOP)]
    expect(own.filter((name) => name.startsWith('acme-print brand: Own Heavy Tee'))).toHaveLength(1)
    expect(other.filter((name) => name.startsWith(`bolt-apparel brand: ${CANARY}`))).toHaveLength(1)
    const platform = own.filter((name) => name.startsWith('Gildan'))
    expect(platform.length).toBeGreaterThan(0)
    expect(other.filter((name) => name.startsWith('Gildan'))).toEqual(platform)
  })

  it('two requests at a time for two shops, on shared connections, are never mixed up', async () => {
    const [acme, bolt] = [await owner(SHOP), await owner(OTHER_SHOP)]
    const ids = { [acme.token]: await tenantId(service.database.admin, SHOP), [bolt.token]: '' }
    ids[bolt.token] = await tenantId(service.database.admin, OTHER_SHOP)
    const answers = await Promise.all(
      Array.from({ length: 400 }, async (_, index) => {
        const token = index % 3 === 0 ? bolt.token : acme.token
        const route = index % 2 === 0 ? 'GET /v1/catalog/styles?q=2000&limit=100' : 'GET /v1/auth/session'
        return { token, answer: await service.request(route, { token }) }
      }),
    )
    for (const { token, answer } of answers) {
      expect(answer.status).toBe(200)
      expect(answer.headers.get('x-tenant-id')).toBe(ids[token])
      if (token === acme.token) expect(leaks(answer)).toEqual([])
    }
  })
})

describe('guarantee 8: another shop’s resource is one that does not exist', () => {
  it.each(withIds)(
    '$name answers its id with the very bytes that a random one gets, and changes nothing',
    async (route) => {
      const other = await tenantId(service.database.admin, OTHER_SHOP)
      const before = await stateOf(other)
      for (const slug of [SHOP, null]) {
        const { token } = await mintSession(service.database.admin, { email: 'owner@acme.test', slug })
        const requestId = randomUUID()
        const ask = (id: string) =>
          service.request(`${route.endpoint.method} ${withId(route.endpoint.path, id)}`, {
            token,
            body: sampleBody(route),
            headers: { 'x-request-id': requestId },
          })
        const [theirs, nobodys] = [await ask(foreignId(route.endpoint.path)), await ask(randomUUID())]
        const expected = slug === null && isTenantAccess(route.endpoint.access) ? 403 : 404
        expect(theirs.status).toBe(expected)
        expect(theirs.text).toBe(nobodys.text)
        const headers = ({ headers }: Answer) => [...headers].filter(([name]) => name !== 'date')
        expect(headers(theirs)).toEqual(headers(nobodys))
      }
      expect(await stateOf(other)).toBe(before)
    },
  )

  it.each(withIds)('$name would have found it in its own shop', async (route) => {
    const id = await makeResource(service, route.endpoint.path, SHOP)
    const [holder] = await service.database.admin<{ email: string }[]>`
      select u.email from app.sessions s join app.users u on u.id = s.user_id where s.id = ${id}`
    const { token } = await mintSession(service.database.admin, {
      email: holder?.email ?? 'owner@acme.test',
      slug: SHOP,
    })
    const answer = await service.request(`${route.endpoint.method} ${withId(route.endpoint.path, id)}`, {
      token,
      body: sampleBody(route),
    })
    expect(answer.status).toBeLessThan(300)
  })
})
