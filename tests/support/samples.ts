import { vendorAccounts } from '#infra/local/vendors/vendors.ts'
import { exampleOfSchema } from '#shared/http/openapi.ts'
import { createUser, mintSession, tenantId } from './minted-session.ts'
import { type Route, routes } from './routes.ts'
import { PASSWORD, type TestService } from './service.ts'

const [VENDOR] = vendorAccounts

/**
 * The fields of a body that the example of its schema cannot give: credentials that the seed and the local vendor know.
 * A new route needs no line here, as long as its schema has examples.
 */
const EXCEPTIONS: Readonly<Record<string, object>> = {
  'POST /v1/auth/login': { email: 'nobody@shops.test', password: PASSWORD },
  'POST /v1/vendor-accounts': {
    vendor: VENDOR?.code,
    account_number: VENDOR?.account_number,
    secret: VENDOR?.secret,
  },
  'PUT /v1/vendor-accounts/{id}/secret': { secret: VENDOR?.secret },
}

/** Returns a body that the route's schema accepts, made of the schema's examples, or undefined for a route without a body. */
export function sampleBody({ name, endpoint }: Pick<Route, 'name' | 'endpoint'>): object | undefined {
  if (endpoint.body === null) return undefined
  return { ...Object(exampleOfSchema(endpoint.body)), ...EXCEPTIONS[name] }
}

/** Makes a resource in the tenant of this slug, and returns its id. */
type Maker = (service: TestService, slug: string) => Promise<string>

let made = 0

const throughApi =
  (route: string): Maker =>
  async (service, slug) => {
    made += 1
    const email = `maker${made}@${slug}.test`
    await createUser(service.database.admin, { email, slugs: [slug] })
    const { token } = await mintSession(service.database.admin, { email, slug })
    const sample = routes.filter(({ name }) => name === route).map(sampleBody)[0]
    const body = { ...sample, ...(route.endsWith('/invite') ? { email: `made${made}@samples.test` } : {}) }
    const created = await service.request(route, { token, body })
    if (typeof created.body?.id !== 'string') throw new Error(`${route}: ${created.status} ${created.text}`)
    return created.body.id
  }

const newMember = async (service: TestService, slug: string): Promise<string> => {
  made += 1
  const userId = await createUser(service.database.admin, {
    email: `made${made}@${slug}.test`,
    role: 'viewer',
    slugs: [slug],
  })
  const [row] = await service.database.admin`select id from app.memberships where user_id = ${userId}`
  return row?.['id']
}

const newSession = async (service: TestService, slug: string): Promise<string> => {
  made += 1
  const email = `made${made}@${slug}.test`
  await createUser(service.database.admin, { email, slugs: [slug] })
  return (await mintSession(service.database.admin, { email, slug })).id
}

/** By the path up to its parameter. */
const MAKERS: Readonly<Record<string, Maker>> = {
  '/v1/auth/tenants/{': (service, slug) => tenantId(service.database.admin, slug),
  '/v1/auth/sessions/{': newSession,
  '/v1/members/{': newMember,
  '/v1/members/invitations/{': throughApi('POST /v1/members/invite'),
  '/v1/vendor-accounts/{': throughApi('POST /v1/vendor-accounts'),
}

/** Makes a resource of the tenant that the id of this path names, and returns the id. Throws if MAKERS has no maker for it. */
export function makeResource(service: TestService, path: string, slug: string): Promise<string> {
  const make = MAKERS[path.slice(0, path.indexOf('{') + 1)]
  if (make === undefined) throw new Error(`${path} takes an id: say in tests/support/samples.ts how one is made`)
  return make(service, slug)
}
