import * as v from 'valibot'
import { vendorAccounts } from '#infra/local/vendors/vendors.ts'
import { exampleOfSchema } from '#shared/http/openapi.ts'
import { mintKey } from './minted-key.ts'
import { createUser, mintSession, tenantId } from './minted-session.ts'
import { fieldsOf, type Ids, type Route, routes, withId } from './routes.ts'
import { PASSWORD, type TestService } from './service.ts'

const [VENDOR] = vendorAccounts

/**
 * The fields of a body that the example of its schema cannot give: credentials that the seed and the local vendor know.
 * A new route needs no line here, as long as its schema has examples.
 */
const EXCEPTIONS: Readonly<Record<string, object>> = {
  // The example is a time beyond the longest life of a key, so that it never passes.
  'POST /v1/api-keys': { expires_at: null },
  'POST /v1/api-keys/{id}/rotate': { expires_at: null, replaces: null },
  'POST /v1/auth/login': { email: 'nobody@shops.test', password: PASSWORD },
  'POST /v1/vendor-accounts': {
    vendor: VENDOR?.code,
    account_number: VENDOR?.account_number,
    secret: VENDOR?.secret,
  },
  'PUT /v1/vendor-accounts/{id}/secret': { secret: VENDOR?.secret },
  // The examples of the schemas are the names that the POST routes gave.
  'PATCH /v1/api-keys/{id}': { name: 'Hourly export' },
  'PATCH /v1/roles/{id}': { label: 'Day shift' },
}

/**
 * Returns a body that the route's schema accepts, made of the schema's examples, or undefined for a route without a body.
 * Fields that `ids` names, at any depth, get these ids; a field `id` does not.
 */
export function sampleBody(
  { name, endpoint }: Pick<Route, 'name' | 'endpoint'>,
  ids: Partial<Ids> = {},
): object | undefined {
  if (endpoint.body === null) return undefined
  const body = { ...Object(exampleOfSchema(endpoint.body)), ...EXCEPTIONS[name] }
  return JSON.parse(JSON.stringify(body, (field, value: unknown) => (field === 'id' ? value : (ids[field] ?? value))))
}

/** Returns `?` and the required fields of the route's query, made of the schema's examples, or nothing if there are none. */
export function sampleQuery({ endpoint: { query } }: Pick<Route, 'endpoint'>): string {
  const required = query === null ? [] : fieldsOf(query).filter(({ required }) => required)
  if (query === null || required.length === 0) return ''
  const examples = required.map(({ name }) => [name, String(exampleOfSchema(Reflect.get(query.entries, name)))])
  return `?${new URLSearchParams(Object.fromEntries(examples)).toString()}`
}

/** Makes a resource in the tenant of this slug, and returns its ids. */
type Maker = (service: TestService, slug: string) => Promise<Ids>

/** How many are made. A letter ends the number in a person's name, so that no name is a part of another. */
let made = 0

/** Returns a body with another text in each field that takes it: a name is often unique in a tenant. */
function distinct({ name: route, endpoint }: Route, body: object): object {
  const fields = Object.entries(endpoint.body === null ? {} : Object(Reflect.get(endpoint.body, 'entries')))
  const others = fields.flatMap(([name, schema]) => {
    const parsed = v.safeParse(schema as v.GenericSchema, `${Reflect.get(body, name)} ${made}`)
    return parsed.success && typeof parsed.output === 'string' ? [[name, parsed.output]] : []
  })
  return { ...body, ...Object.fromEntries(others), ...EXCEPTIONS[route] }
}

/** Calls a route with its sample body as a new owner of the tenant, and returns the id in the response. */
async function create(
  service: TestService,
  slug: string,
  route: string,
  { ids, varied = false }: { ids?: Ids; varied?: boolean } = {},
): Promise<string> {
  made += 1
  const email = `maker${made}x@${slug}.test`
  await createUser(service.database.admin, { email, slugs: [slug] })
  const { token } = await mintSession(service.database.admin, { email, slug })
  const [sample] = routes
    .filter(({ name }) => name === route)
    .map((found) => (varied ? distinct(found, sampleBody(found, ids) ?? {}) : sampleBody(found, ids)))
  const body = { ...sample, ...(route.endsWith('/invite') ? { email: `made${made}@samples.test` } : {}) }
  const created = await service.request(ids === undefined ? route : withId(route, ids), { token, body })
  if (typeof created.body?.id !== 'string') throw new Error(`${route}: ${created.status} ${created.text}`)
  return created.body.id
}

const throughApi =
  (route: string, varied = false): Maker =>
  async (service, slug) => ({ id: await create(service, slug, route, { varied }) })

const newDesign: Maker = async (service, slug) => {
  const id = await create(service, slug, 'POST /v1/designs')
  await create(service, slug, 'POST /v1/designs/{id}/assets', { ids: { id } })
  // The second one is not primary.
  return { id, asset_id: await create(service, slug, 'POST /v1/designs/{id}/assets', { ids: { id } }) }
}

const newMember: Maker = async (service, slug) => {
  made += 1
  const userId = await createUser(service.database.admin, {
    email: `made${made}x@${slug}.test`,
    role: 'viewer',
    slugs: [slug],
  })
  // So that a manager can report a lost phone.
  await giveFactor(service, userId)
  const [row] = await service.database.admin<Ids[]>`select id from app.memberships where user_id = ${userId}`
  return row ?? { id: '' }
}

const newRole: Maker = async (service, slug) => {
  made += 1
  const tenant = await tenantId(service.database.admin, slug)
  const [row] = await service.database.admin<Ids[]>`
    insert into app.roles (tenant_id, code, label, rank, based_on) values (${tenant}, ${`made-${made}`}, ${`Made ${made}`}, 10, 7)
    returning id::text`
  return row ?? { id: '' }
}

const newSession: Maker = async (service, slug) => {
  made += 1
  const email = `made${made}x@${slug}.test`
  await createUser(service.database.admin, { email, slugs: [slug] })
  const { id } = await mintSession(service.database.admin, { email, slug })
  return { id }
}

/** Gives a user a password and an authenticator app of which nobody knows the secret. */
async function giveFactor({ database: { admin } }: TestService, userId: string): Promise<Ids> {
  await admin`
    update app.users set password_hash = (select password_hash from app.users where email = 'owner@acme.test') where id = ${userId}`
  const [row] = await admin<Ids[]>`
    insert into app.factors (id, user_id, kind, name, key_id, witness_hash, sealed_secret, last_step)
    values (gen_random_uuid(), ${userId}, 'totp', 'Made', gen_random_uuid(), sha256('made'), 'made', 0)
    returning id`
  return row ?? { id: '' }
}

const newFactor: Maker = async (service, slug) => {
  made += 1
  const email = `made${made}x@${slug}.test`
  return giveFactor(service, await createUser(service.database.admin, { email, slugs: [slug] }))
}

const newStyle: Maker = async (service, slug) => {
  made += 1
  const tenant = await tenantId(service.database.admin, slug)
  const [row] = await service.database.admin<Ids[]>`
    insert into app.styles (tenant_id, style_number, name, brand, category)
    values (${tenant}, ${`M-${made}`}, ${`${slug} sample ${made}`}, ${`${slug} label`}, 'Samples') returning id`
  return row ?? { id: '' }
}

const newDeal: Maker = async (service, slug) => {
  const style = await newStyle(service, slug)
  await service.database.admin`
    insert into app.price_breaks (tenant_id, style_id, style_scope, min_quantity, unit_price)
    select tenant_id, id, scope, 1, 12.5 from app.styles where id = ${style.id}`
  return { id: await create(service, slug, 'POST /v1/deals'), style_id: style.id }
}

const newAccount = throughApi('POST /v1/vendor-accounts')

/** Makes a sync run that has ended, so that another one may start. */
const newSyncRun: Maker = async (service, slug) => {
  const { id: account } = await newAccount(service, slug)
  const [row] = await service.database.admin<Ids[]>`
    insert into app.sync_runs (tenant_id, vendor, vendor_account_id, status, error, finished_at)
    select tenant_id, vendor, id, 'failed', 'vendor-rejected', now() from app.vendor_accounts where id = ${account} returning id`
  return row ?? { id: '' }
}

/** By the path up to its parameter: the resources that their own create route does not make. */
const MAKERS: Readonly<Record<string, Maker>> = {
  '/v1/api-keys/{': async (service, slug) => ({
    id: (
      await mintKey(service.sql, { tenant: await tenantId(service.database.admin, slug), permissions: ['deal.read'] })
    ).id,
  }),
  '/v1/auth/tenants/{': async (service, slug) => ({ id: await tenantId(service.database.admin, slug) }),
  '/v1/auth/factors/{': newFactor,
  '/v1/auth/sessions/{': newSession,
  '/v1/catalog/styles/{': newStyle,
  '/v1/catalog/sync-runs/{': newSyncRun,
  '/v1/deals/{': newDeal,
  '/v1/designs/{': newDesign,
  '/v1/members/{': newMember,
  '/v1/members/invitations/{': throughApi('POST /v1/members/invite'),
  '/v1/price-breaks/{': newStyle,
  '/v1/roles/{': newRole,
}

/**
 * Makes a resource of the tenant that the ids of this path name, and returns them: `/v1/tags/{id}` by `POST /v1/tags`. Throws if
 * there is no such route and MAKERS has no maker.
 */
export function makeResource(service: TestService, path: string, slug: string): Promise<Ids> {
  const before = path.slice(0, path.indexOf('{'))
  const create = `POST ${before.slice(0, -1)}`
  const make =
    MAKERS[`${before}{`] ?? (routes.some(({ name }) => name === create) ? throughApi(create, true) : undefined)
  if (make === undefined) throw new Error(`${path} takes an id: say in tests/support/samples.ts how one is made`)
  return make(service, slug)
}
