import * as v from 'valibot'
import { vendorAccounts } from '#infra/local/vendors/vendors.ts'
import { createUser, mintSession, tenantId } from './minted-session.ts'
import type { Route } from './routes.ts'
import { PASSWORD, type TestService } from './service.ts'

const UNKNOWN_TOKEN = 'x'.repeat(43)
const [VENDOR] = vendorAccounts
const NEW_PASSWORD = 'a passphrase of the samples'

/** A body that each route accepts as well-formed. None of them changes what another test looks at. */
const BODIES: Readonly<Record<string, object>> = {
  'POST /v1/auth/login': { email: 'nobody@shops.test', password: PASSWORD },
  'POST /v1/auth/password/change': { current_password: 'not the current one', new_password: NEW_PASSWORD },
  'POST /v1/auth/password/forgot': { email: 'unknown@nowhere.test' },
  'POST /v1/auth/password/reset': { token: UNKNOWN_TOKEN, password: NEW_PASSWORD },
  'POST /v1/auth/verify': { token: UNKNOWN_TOKEN },
  'POST /v1/auth/invitations/inspect': { token: UNKNOWN_TOKEN },
  'POST /v1/auth/invitations/accept': { token: UNKNOWN_TOKEN, full_name: 'A Person', password: NEW_PASSWORD },
  'POST /v1/members/invite': { email: 'invited@samples.test', role: 'viewer' },
  'PATCH /v1/members/{id}': { role: 'viewer' },
  'POST /v1/vendor-accounts': {
    vendor: VENDOR?.code,
    label: 'Sample',
    account_number: VENDOR?.account_number,
    secret: VENDOR?.secret,
  },
  'PUT /v1/vendor-accounts/{id}/secret': { secret: VENDOR?.secret },
}

/** The sample body of a route, or undefined for a route that takes none. Throws when a route lacks one that fits. */
export function sampleBody({ name, endpoint }: Route): object | undefined {
  if (endpoint.body === null) return undefined
  const body = BODIES[name]
  if (body === undefined) throw new Error(`${name} takes a body: give it a sample in tests/support/samples.ts`)
  if (!v.is(endpoint.body, body)) throw new Error(`the sample of ${name} does not fit its schema`)
  return body
}

/** Makes, in the shop of this slug, what the id of a path names, and returns that id. */
type Maker = (service: TestService, slug: string) => Promise<string>

let made = 0

const throughApi =
  (route: string): Maker =>
  async (service, slug) => {
    made += 1
    const email = `maker${made}@${slug}.test`
    await createUser(service.database.admin, { email, slugs: [slug] })
    const { token } = await mintSession(service.database.admin, { email, slug })
    const sample = { ...BODIES[route], ...(route.endsWith('/invite') ? { email: `made${made}@samples.test` } : {}) }
    const created = await service.request(route, { token, body: sample })
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

/** By the part of a path up to its parameter; the longest that fits counts. */
const MAKERS: Readonly<Record<string, Maker>> = {
  '/v1/auth/tenants/{': (service, slug) => tenantId(service.database.admin, slug),
  '/v1/auth/sessions/{': newSession,
  '/v1/members/{': newMember,
  '/v1/members/invitations/{': throughApi('POST /v1/members/invite'),
  '/v1/vendor-accounts/{': throughApi('POST /v1/vendor-accounts'),
}

/** The id of a resource of this shop that a path takes. Throws when nothing here knows what the path's id names. */
export function makeResource(service: TestService, path: string, slug: string): Promise<string> {
  const make = MAKERS[path.slice(0, path.indexOf('{') + 1)]
  if (make === undefined) throw new Error(`${path} takes an id: say in tests/support/samples.ts how one is made`)
  return make(service, slug)
}
