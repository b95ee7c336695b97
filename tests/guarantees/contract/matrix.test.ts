import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { endpoint, isTenantAccess } from '#shared/http/endpoint.ts'
import { routeGroup } from '#shared/http/group.ts'
import { lambda } from '#shared/http/lambda.ts'
import { ok } from '#shared/http/reply.ts'
import type { Permission } from '#shared/role/permissions.ts'
import { newToken, hashToken } from '#shared/secret/secret.ts'
import { gatewayEvent } from '#tests/support/event.ts'
import { expectContract, indistinguishable } from '#tests/support/expect-answer.ts'
import { lambdaContext } from '#tests/support/lambda-context.ts'
import { createUser, createTenant, mintSession, tenantId } from '#tests/support/minted-session.ts'
import { PROBLEMS } from '#tests/support/problems.ts'
import { rawRequest, toAnswer } from '#tests/support/raw-http.ts'
import { methodsByPath, type Route, routes, takesId, withId } from '#tests/support/routes.ts'
import { makeResource, sampleBody } from '#tests/support/samples.ts'
import { type Answer, PEPPER, startService, type TestService } from '#tests/support/service.ts'

const SHOP = 'acme-print'
const OTHER_SHOP = 'bolt-apparel'
const ROLES = ['owner', 'admin', 'sales', 'account', 'designer', 'production', 'viewer']
const PERMISSIONS: readonly Permission[] = [
  'company.read',
  'company.write',
  'customer.write',
  'deal.price.read',
  'deal.price.write',
  'design.write',
  'design.approve',
  'catalog.read',
  'member.manage',
  'vendor.manage',
  // @ts-expect-error a permission that is not in the list does not compile
  'no.role.holds.this',
]

/** One route per permission, read and written, so that the seven roles are told apart whatever routes there are now. */
const probes = routeGroup({
  name: 'probe',
  bodyLimitBytes: 1024,
  endpoints: PERMISSIONS.flatMap((permission) => {
    const path = `/v1/probe/${permission.replaceAll('.', '-')}` as const
    const summary = 'A probe'
    const reply = v.object({ permission: v.string() })
    const handle = async () => ok<{ permission: string }>({ permission })
    return [
      endpoint({ route: `GET ${path}`, access: { permission }, summary, reply, handle }),
      endpoint({ route: `PUT ${path}`, access: { permission }, summary, reply, handle }),
    ]
  }),
})

const allRoutes: readonly Route[] = [
  ...routes,
  ...probes.endpoints.map((probe) => ({
    name: `${probe.method} ${probe.path}`,
    endpoint: probe,
    bodyLimitBytes: probes.bodyLimitBytes,
  })),
]
const guarded = allRoutes.filter(({ endpoint }) => endpoint.access !== 'anyone')
const byPermission = allRoutes.filter(({ endpoint }) => isTenantAccess(endpoint.access))

let service: TestService
let shopId: string
/** Rows of role_permissions, as they are stored. */
let held: Map<string, Set<string>>
/** Tokens of sessions that were live, and are no longer, by what ended them. */
const dead: Record<string, string> = {}

beforeAll(async () => {
  service = await startService({ groups: [probes] })
  const { admin } = service.database
  shopId = await tenantId(admin, SHOP)
  held = new Map(ROLES.map((role) => [role, new Set()]))
  for (const { code, permission } of await admin<{ code: string; permission: string }[]>`
    select r.code, p.permission from app.role_permissions p join app.roles r on r.id = p.role_id`) {
    held.get(code)?.add(permission)
  }
  await endSessions()
})
afterAll(() => service.close())

const sql = () => service.database.admin

/** Ends one live session in each way there is; each was let in before, so that it is the ending that is tested. */
async function endSessions(): Promise<void> {
  const ends: Record<string, (who: { id: string; email: string; slug: string }) => PromiseLike<unknown>> = {
    'idle too long': ({ id }) => sql()`update app.sessions set idle_expires_at = now() where id = ${id}`,
    'past its absolute expiry': ({ id }) => sql()`update app.sessions set absolute_expires_at = now() where id = ${id}`,
    revoked: ({ id }) => sql()`update app.sessions set revoked_at = now() where id = ${id}`,
    'of a disabled user': ({ email }) => sql()`update app.users set disabled_at = now() where email = ${email}`,
    'of a revoked membership': ({ email }) => sql()`
      update app.memberships m set revoked_at = now() from app.users u where u.id = m.user_id and u.email = ${email}`,
    'of a membership that was never accepted': ({ email }) => sql()`
      update app.memberships m set accepted_at = null from app.users u where u.id = m.user_id and u.email = ${email}`,
    'without a membership': ({ email }) => sql()`
      delete from app.memberships m using app.users u where u.id = m.user_id and u.email = ${email}`,
    'of a suspended tenant': ({ slug }) => sql()`update app.tenants set status = 'suspended' where slug = ${slug}`,
    'of a cancelled tenant': ({ slug }) => sql()`update app.tenants set status = 'cancelled' where slug = ${slug}`,
    'of a deleted tenant': ({ slug }) => sql()`update app.tenants set deleted_at = now() where slug = ${slug}`,
  }
  let count = 0
  for (const [cause, end] of Object.entries(ends)) {
    count += 1
    const slug = `dead-shop-${count}`
    const email = `dead${count}@matrix.test`
    await createTenant(sql(), slug)
    await createUser(sql(), { email, slugs: [slug] })
    const { id, token } = await mintSession(sql(), { email, slug })
    const alive = await service.request('GET /v1/auth/session', { token })
    if (alive.status !== 200) throw new Error(`the session ${cause} was not live before`)
    await end({ id, email, slug })
    dead[cause] = token
  }
  const { id, token } = await mintSession(sql(), { email: 'nobody@shops.test' })
  await sql()`update app.sessions set idle_expires_at = now() where id = ${id}`
  dead['idle too long, with no tenant'] = token
  dead['never issued'] = newToken()
  const key = await sql()<{ token_key: Buffer }[]>`select token_key from app.sessions where id = ${id}`
  dead['the stored key instead of the token'] = key[0]?.token_key.toString('base64url') ?? ''
}

/** Calls a route with a sample body and an id of nothing. */
const call = (route: Route, options: { token?: string; headers?: Record<string, string> } = {}): Promise<Answer> =>
  service.request(`${route.endpoint.method} ${withId(route.endpoint.path, randomUUID())}`, {
    ...options,
    body: sampleBody(route),
  })

const CHALLENGE = 'Bearer realm="api"'
const CHALLENGE_AFTER_TOKEN = 'Bearer realm="api", error="invalid_token"'

/** Spellings of the credentials of a live session, none of which is `Bearer <token>`. */
const misspelt = (token: string): { spelling: string; value: string; tokenSent: boolean | null }[] => {
  const sent = (spelling: string, value: string) => ({ spelling, value, tokenSent: true })
  const alias = `${token.slice(0, -1)}${sameBytes(token.slice(-1))}`
  return [
    sent('one character short', `Bearer ${token.slice(0, -1)}`),
    sent('ten characters short', `Bearer ${token.slice(0, -10)}`),
    sent('one character long', `Bearer ${token}A`),
    sent('padded', `Bearer ${token}=`),
    sent('in the alphabet of plain base64', `Bearer ${token.replaceAll('-', '+').replaceAll('_', '/')}`),
    sent('another spelling of the same bytes', `Bearer ${alias}`),
    sent('in upper case', `Bearer ${token.toUpperCase()}`),
    sent('in hex', `Bearer ${Buffer.from(token, 'base64url').toString('hex')}`),
    sent('quoted', `Bearer "${token}"`),
    sent('percent-encoded', `Bearer %${token.charCodeAt(0).toString(16)}${token.slice(1)}`),
    sent('after two spaces', `Bearer  ${token}`),
    sent('twice', `Bearer ${token} ${token}`),
    sent('in a list', `Bearer ${token}, Bearer ${token}`),
    sent('with a character beyond ASCII', `Bearer ${token.slice(0, -1)}\u00e9`),
    sent('very long', `Bearer ${token.repeat(100)}`),
    { spelling: 'without a token', value: 'Bearer', tokenSent: null },
    { spelling: 'under the Basic scheme', value: `Basic ${token}`, tokenSent: false },
    { spelling: 'as Basic credentials', value: `Basic ${btoa(`${token}:`)}`, tokenSent: false },
    { spelling: 'under an unknown scheme', value: `Token ${token}`, tokenSent: false },
    { spelling: 'without a scheme', value: token, tokenSent: false },
    { spelling: 'with a colon', value: `Bearer:${token}`, tokenSent: false },
    { spelling: 'empty', value: '', tokenSent: false },
  ]
}

// The last of 43 characters holds four bits of the token and two that decoding drops.
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const sameBytes = (last: string): string => ALPHABET[ALPHABET.indexOf(last) ^ 1] ?? ''

/** A token that has both characters in which base64url differs from base64. */
const tellingToken = (): string => `-_${newToken().slice(2)}`

describe('a guarded route', () => {
  it('is among the routes, as is an open one', () => {
    expect(guarded.length).toBeGreaterThan(5)
    expect(allRoutes.length).toBeGreaterThan(guarded.length)
  })

  it.each(guarded)('$name answers one 401 to no credentials and to every dead session', async (route) => {
    const absent = await call(route)
    expect(absent.status).toBe(401)
    expect(absent.headers.get('www-authenticate')).toBe(CHALLENGE)
    expectContract(absent, null)
    const { text } = indistinguishable(absent) as { text: string }
    for (const [cause, token] of Object.entries(dead)) {
      const refused = await call(route, { token })
      expect(refused.status, cause).toBe(401)
      expect(refused.headers.get('www-authenticate'), cause).toBe(CHALLENGE_AFTER_TOKEN)
      expectContract(refused, null)
      expect(indistinguishable(refused), cause).toMatchObject({ text })
    }
  })

  it.each(guarded)('$name takes the token in no other spelling', async (route) => {
    const token = tellingToken()
    await mintSession(sql(), { email: 'owner@acme.test', slug: SHOP, token })
    const { text } = indistinguishable(await call(route)) as { text: string }
    for (const { spelling, value, tokenSent } of misspelt(token)) {
      const refused = await call(route, { headers: { authorization: value } })
      expect(refused.status, spelling).toBe(401)
      expectContract(refused, null)
      expect(indistinguishable(refused), spelling).toMatchObject({ text })
      const challenges = tokenSent === null ? [CHALLENGE, CHALLENGE_AFTER_TOKEN] : [challengeFor(tokenSent)]
      expect(challenges, spelling).toContain(refused.headers.get('www-authenticate'))
    }
    const control = await call(route, { headers: { authorization: `Bearer ${token}` } })
    expect(control.status).not.toBe(401)
  })

  it.each(guarded)('$name takes the scheme in any case', async (route) => {
    for (const scheme of ['bearer', 'BEARER', 'bEaReR']) {
      const { token } = await mintSession(sql(), { email: 'owner@acme.test', slug: SHOP })
      const answer = await call(route, { headers: { authorization: `${scheme} ${token}` } })
      expect(answer.status).not.toBe(401)
    }
  })

  it.each(guarded)('$name looks for the token in the Authorization header alone', async (route) => {
    const { token } = await mintSession(sql(), { email: 'owner@acme.test', slug: SHOP })
    const path = `${withId(route.endpoint.path, randomUUID())}?access_token=${token}&token=${token}`
    const answer = await service.request(`${route.endpoint.method} ${path}`, {
      headers: { cookie: `session=${token}; token=${token}`, 'x-authorization': `Bearer ${token}` },
      body: sampleBody(route),
    })
    expect(answer.status).toBe(401)
  })

  it('refuses a token with a space behind it, where the gateway passes one on', async () => {
    const { token } = await mintSession(sql(), { email: 'owner@acme.test', slug: SHOP })
    const { config } = service.runtime
    for (const route of guarded) {
      const { bodyLimitBytes } = route
      const group = routeGroup({ name: 'one', bodyLimitBytes, endpoints: [route.endpoint] })
      const answer = await lambda(group, { config, open: async () => service.runtime })(
        gatewayEvent({
          route: route.name,
          headers: { Authorization: `Bearer ${token} ` },
          ...(takesId(route.endpoint.path) ? { params: { id: randomUUID() } } : {}),
        }),
        lambdaContext,
      )
      expect(answer.statusCode, route.name).toBe(401)
    }
  })
})

const challengeFor = (tokenSent: boolean): string => (tokenSent ? CHALLENGE_AFTER_TOKEN : CHALLENGE)

describe('an open route', () => {
  const open = allRoutes.filter(({ endpoint }) => endpoint.access === 'anyone')

  it.each(open)('$name does not care who calls', async (route) => {
    const live = await mintSession(sql(), { email: 'viewer@acme.test', slug: SHOP })
    const credentials = [
      undefined,
      'Bearer nonsense',
      'Basic eDp5',
      `Bearer ${live.token}`,
      ...Object.values(dead).map((token) => `Bearer ${token}`),
    ]
    for (const authorization of credentials) {
      const answer = await call(route, authorization === undefined ? {} : { headers: { authorization } })
      expect([401, 403]).not.toContain(answer.status)
      expect(answer.status).toBeLessThan(500)
      expectContract(answer, null)
    }
  })
})

describe('a live session without a tenant', () => {
  it.each(guarded)('$name lets it in exactly when no permission is asked for', async (route) => {
    const { token } = await mintSession(sql(), { email: 'both@shops.test' })
    const answer = await call(route, { token })
    expectContract(answer, null)
    if (!isTenantAccess(route.endpoint.access)) {
      expect([401, 403]).not.toContain(answer.status)
      expect(answer.status).toBeLessThan(500)
    } else {
      expect(answer.status).toBe(403)
      expect(answer.body.type).toBe(`${PROBLEMS}/tenant-not-selected`)
    }
  })
})

describe('a live session in a tenant', () => {
  it.each(guarded.filter(({ endpoint }) => !isTenantAccess(endpoint.access)))(
    '$name lets in every role, and names the tenant',
    async (route) => {
      for (const role of ROLES) {
        const { token } = await mintSession(sql(), { email: `${role}@acme.test`, slug: SHOP })
        const answer = await call(route, { token })
        expect([401, 403], role).not.toContain(answer.status)
        expect(answer.status, role).toBeLessThan(500)
        expectContract(answer, shopId)
      }
    },
  )

  it.each(byPermission)('$name lets in exactly the roles whose rows hold its permission', async (route) => {
    const { access } = route.endpoint
    const permission = isTenantAccess(access) ? access.permission : ''
    const admitted: string[] = []
    for (const role of ROLES) {
      const { token } = await mintSession(sql(), { email: `${role}@acme.test`, slug: SHOP })
      const answer = await call(route, { token })
      expectContract(answer, shopId)
      expect([401, 500, 502], role).not.toContain(answer.status)
      if (answer.status === 403) expect(answer.body.type, role).toBe('about:blank')
      else admitted.push(role)
      expect(answer.text.replace(/"permission":"[a-z.]+"\}$/, ''), role).not.toContain(permission)
    }
    expect(admitted).toEqual(ROLES.filter((role) => held.get(role)?.has(permission) || held.get(role)?.has('*')))
  })

  it.each(byPermission)('$name follows a change of the role’s rows on the very next request', async (route) => {
    const { access } = route.endpoint
    const permission = isTenantAccess(access) ? access.permission : ''
    const { token } = await mintSession(sql(), { email: 'production@acme.test', slug: SHOP })
    const before = await call(route, { token })
    const [kept] = await sql()`select 1 from app.role_permissions where role_id = 6 and permission = ${permission}`
    if (kept === undefined) {
      await sql()`insert into app.role_permissions (role_id, permission) values (6, ${permission})`
      expect(before.status).toBe(403)
      expect((await call(route, { token })).status).not.toBe(403)
      await sql()`delete from app.role_permissions where role_id = 6 and permission = ${permission}`
      expect((await call(route, { token })).status).toBe(403)
    } else {
      await sql()`delete from app.role_permissions where role_id = 6 and permission = ${permission}`
      expect(before.status).not.toBe(403)
      expect((await call(route, { token })).status).toBe(403)
      await sql()`insert into app.role_permissions (role_id, permission) values (6, ${permission})`
      expect((await call(route, { token })).status).not.toBe(403)
    }
  })

  it.each(byPermission)('$name follows a change of the member’s role on the very next request', async (route) => {
    const email = `mover-${randomUUID()}@matrix.test`
    await createUser(sql(), { email, role: 'owner', slugs: [SHOP] })
    const { token } = await mintSession(sql(), { email, slug: SHOP })
    expect((await call(route, { token })).status).not.toBe(403)
    await sql()`insert into app.roles (id, code, label, rank) values (99, 'guest', 'Guest', 0) on conflict do nothing`
    await sql()`
      update app.memberships m set role_id = 99 from app.users u where u.id = m.user_id and u.email = ${email}`
    expect((await call(route, { token })).status).toBe(403)
  })

  it.each(routes.filter(({ endpoint }) => takesId(endpoint.path)))(
    '$name answers 404 for what belongs to another shop',
    async (route) => {
      const id = await makeResource(service, route.endpoint.path, OTHER_SHOP)
      const { token } = await mintSession(sql(), { email: 'owner@acme.test', slug: SHOP })
      const answer = await service.request(`${route.endpoint.method} ${withId(route.endpoint.path, id)}`, {
        token,
        body: sampleBody(route),
      })
      expect(answer.status).toBe(404)
      expectContract(answer, shopId)
    },
  )
})

describe('a path', () => {
  const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY']
  const paths = [...methodsByPath].map(([path, methods]) => ({ path, methods }))
  // `/v1/auth/sessions/x.css` is the path of one session, of an id that is none.
  const templates = paths
    .filter(({ path }) => takesId(path))
    .map(({ path }) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/%]+')}$`))
  // `/v1/members/invite%00` is the path of one member, of an id that is none: known, if by another method.
  const encoded = paths
    .filter(({ path }) => takesId(path))
    .map(({ path }) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]*%[^/]*')}$`))

  it.each(paths)(
    '$path answers 405 to every method that it does not declare, and names those that it does',
    async ({ path, methods }) => {
      const { token } = await mintSession(sql(), { email: 'owner@acme.test', slug: SHOP })
      for (const method of METHODS.filter((method) => !methods.includes(method))) {
        for (const headers of [[], ['authorization', `Bearer ${token}`]]) {
          const raw = await rawRequest(service.gateway.url, { method, path: withId(path, randomUUID()), headers })
          expect(raw.status, method).toBe(405)
          const allowed = (raw.headers['allow']?.join(',') ?? '').split(',').map((name) => name.trim())
          expect(allowed.toSorted(), method).toEqual(methods.toSorted())
          if (method !== 'HEAD') expectContract(toAnswer(raw), null)
        }
      }
    },
  )

  it.each(paths)('$path has one spelling', async ({ path, methods }) => {
    const { token } = await mintSession(sql(), { email: 'owner@acme.test', slug: SHOP })
    const own = withId(path, '00000000-0000-4000-8000-000000000000')
    const spellings = [
      `${own}/`,
      `${own}//`,
      `/${own}`,
      own.toUpperCase(),
      own.replace('/v1', '/V1').replace('/health', '/Health'),
      own.replace(/^\/(\w+)\//, '/$1//'),
      own.replace(/^\/(\w+)\//, '/$1/%2e/'),
      own.replace(/^\/(\w+)\//, '/$1/./'),
      own.replace(/^\/(\w+)\//, '/$1/%2e%2e/$1/'),
      own.replace(/^\/(\w+)\//, '/$1/../$1/'),
      own.replace(/^\/(\w+)\//, '/$1%2f'),
      `${own}%00`,
      `${own}%20`,
      `${own};a=b`,
      `${own}.json`,
      `${own}/x.css`,
      `${own}\\`,
      own.replace('/v1', '/v2'),
      own.replace('/v1', '').replace('/health', ''),
      own.replace(/[a-z](?=[a-z]*$)/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
    ].filter((spelling) => spelling !== own && spelling !== '' && !templates.some((path) => path.test(spelling)))
    for (const spelling of spellings) {
      for (const method of methods) {
        const raw = await rawRequest(service.gateway.url, {
          method,
          path: spelling,
          headers: ['authorization', `Bearer ${token}`],
        })
        const known = encoded.some((path) => path.test(spelling))
        expect(known ? [404, 405] : [404], `${method} ${spelling}`).toContain(raw.status)
        expectContract(toAnswer(raw), null)
      }
    }
    // None of them was a request: the session is as live as it was.
    expect((await service.request('GET /v1/auth/session', { token })).status).toBe(200)
  })

  it('that is unknown answers 404, to whoever asks', async () => {
    const { token } = await mintSession(sql(), { email: 'owner@acme.test', slug: SHOP })
    for (const path of ['/', '/v1', '/v1/', '/v1/unknown', '/debug', '/__test', '/v1/auth', '/.env', '*', '/%']) {
      for (const headers of [[], ['authorization', `Bearer ${token}`]]) {
        const raw = await rawRequest(service.gateway.url, { method: 'GET', path, headers })
        expect(raw.status, path).toBe(404)
        expectContract(toAnswer(raw), null)
      }
    }
  })
})

describe('the session check', () => {
  it('finds a session by nothing but SHA-256 of the pepper and the token', async () => {
    const { id, token } = await mintSession(sql(), { email: 'owner@acme.test', slug: SHOP })
    expect((await service.request('GET /v1/auth/session', { token })).status).toBe(200)
    await sql()`update app.sessions set token_key = ${hashToken('', token)} where id = ${id}`
    expect((await service.request('GET /v1/auth/session', { token })).status).toBe(401)
    await sql()`update app.sessions set token_key = ${hashToken(PEPPER, token)} where id = ${id}`
    expect((await service.request('GET /v1/auth/session', { token })).status).toBe(200)
  })
})
