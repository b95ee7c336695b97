import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { isTenantAccess, requiresSession } from '#shared/http/access.ts'
import { SERVICE_CHALLENGE } from '#shared/base/problem.ts'
import { hashToken, newToken } from '#shared/secret/secret.ts'
import { CHALLENGE_HEADER, expectContract, expectProblem, indistinguishable } from '#tests/support/expect-answer.ts'
import { newFactorUser, openSignIn } from '#tests/support/factor.ts'
import { createTenant, createUser, mintSession, tenantId } from '#tests/support/minted-session.ts'
import { type Route, routes, takesId, withId, withUnknownId } from '#tests/support/routes.ts'
import { makeResource, sampleBody, sampleQuery } from '#tests/support/samples.ts'
import { basic, mintServiceKey } from '#tests/support/service-key.ts'
import { type Answer, PEPPER } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'
import { probeRoutes, probes, READ, SESSION, WRITE } from './probes.ts'

const SLUG = 'acme-print'
const ROLES = ['owner', 'admin', 'sales', 'account', 'designer', 'production', 'viewer']

const allRoutes = [...routes, ...probeRoutes]
const guarded = [...routes, READ, WRITE, SESSION].filter(({ endpoint }) => requiresSession(endpoint.access))
const byPermission = allRoutes.filter(
  ({ endpoint: { access } }) => isTenantAccess(access) && access.permission !== null,
)
const open = allRoutes.filter(({ endpoint }) => endpoint.access === 'anyone')
const bySession = allRoutes.filter(({ endpoint: { access } }) => requiresSession(access) && !isTenantAccess(access))
const byKey = allRoutes.filter(({ endpoint }) => endpoint.access === 'service')
const withIds = routes.filter(({ endpoint }) => takesId(endpoint.path))

const service = useService({ groups: [probes] })
let tenant: string
/** The permissions of each role, as app.role_permissions has them. */
let held: Map<string, Set<string>>
/** Tokens of ended sessions, by how each session ended. */
const dead: Record<string, string> = {}

beforeAll(async () => {
  tenant = await tenantId(service.sql, SLUG)
  held = new Map(ROLES.map((role) => [role, new Set()]))
  for (const { code, permission } of await service.sql<{ code: string; permission: string }[]>`
    select r.code, p.permission from app.role_permissions p join app.roles r on r.id = p.role_id`) {
    held.get(code)?.add(permission)
  }
  await endSessions()
})

/** Ends one live session in each possible way. Uses each session first, so that the tests see the effect of its end. */
async function endSessions(): Promise<void> {
  const { sql } = service
  const ends: Record<string, (of: { id: string; email: string; slug: string }) => PromiseLike<unknown>> = {
    'idle too long': ({ id }) => sql`update app.sessions set idle_expires_at = now() where id = ${id}`,
    'past its absolute expiry': ({ id }) => sql`update app.sessions set absolute_expires_at = now() where id = ${id}`,
    revoked: ({ id }) => sql`update app.sessions set revoked_at = now() where id = ${id}`,
    'of a disabled user': ({ email }) => sql`update app.users set disabled_at = now() where email = ${email}`,
    'of a revoked membership': ({ email }) => sql`
      update app.memberships m set revoked_at = now() from app.users u where u.id = m.user_id and u.email = ${email}`,
    'of a membership that was never accepted': ({ email }) => sql`
      update app.memberships m set accepted_at = null from app.users u where u.id = m.user_id and u.email = ${email}`,
    'without a membership': ({ email }) => sql`
      delete from app.memberships m using app.users u where u.id = m.user_id and u.email = ${email}`,
    'of a suspended tenant': ({ slug }) => sql`update app.tenants set status = 'suspended' where slug = ${slug}`,
    'of a cancelled tenant': ({ slug }) => sql`update app.tenants set status = 'cancelled' where slug = ${slug}`,
    'of a deleted tenant': ({ slug }) => sql`update app.tenants set deleted_at = now() where slug = ${slug}`,
  }
  for (const [cause, end] of Object.entries(ends)) {
    const slug = `dead-${Object.keys(dead).length}`
    const email = `${slug}@access.test`
    await createTenant(sql, slug)
    await createUser(sql, { email, slugs: [slug] })
    const { id, token } = await mintSession(sql, { email, slug })
    const alive = await service.request('GET /v1/auth/session', { token })
    if (alive.status !== 200) throw new Error(`the session ${cause} was not live before`)
    await end({ id, email, slug })
    dead[cause] = token
  }
  const { id, token } = await mintSession(sql, { email: 'nobody@shops.test' })
  await sql`update app.sessions set idle_expires_at = now() where id = ${id}`
  dead['idle too long, with no tenant'] = token
  const { email } = await newFactorUser(service)
  dead['of a sign-in that owes its second factor'] = await openSignIn(service, email)
  dead['never issued'] = newToken()
  const stored = await sql<{ token_key: Buffer }[]>`select token_key from app.sessions where id = ${id}`
  dead['the stored hash instead of the token'] = stored[0]?.token_key.toString('base64url') ?? ''
}

const sessionOf = (role: string) => mintSession(service.sql, { email: `${role}@acme.test`, slug: SLUG })

/** Calls a route with a sample body and an id that nothing has. */
const call = (route: Route, options: { token?: string; headers?: Record<string, string> } = {}): Promise<Answer> =>
  service.request(`${route.endpoint.method} ${withUnknownId(route.endpoint.path)}`, {
    ...options,
    body: sampleBody(route),
  })

const permissionOf = ({ endpoint: { access } }: Route): string =>
  (isTenantAccess(access) ? access.permission : null) ?? ''

describe('access', () => {
  it('finds guarded and open routes to test', () => {
    expect(routes.filter((route) => guarded.includes(route)).length).toBeGreaterThan(5)
    expect(routes.filter((route) => open.includes(route)).length).toBeGreaterThan(0)
  })

  it.each(guarded)('$name rejects missing credentials and every dead session with the same 401', async (route) => {
    const absent = await call(route)
    expect(absent.status).toBe(401)
    expect(absent.headers.get(CHALLENGE_HEADER)).toBe('Bearer realm="api"')
    expectContract(absent, null)
    const { text } = indistinguishable(absent) as { text: string }
    for (const [cause, token] of Object.entries(dead)) {
      const refused = await call(route, { token })
      expect(refused.status, cause).toBe(401)
      expect(refused.headers.get(CHALLENGE_HEADER), cause).toBe('Bearer realm="api", error="invalid_token"')
      expectContract(refused, null)
      expect(indistinguishable(refused), cause).toMatchObject({ text })
    }
  })

  it.each(guarded)('$name accepts a session without a tenant only where it requires no permission', async (route) => {
    const { token } = await mintSession(service.sql, { email: 'both@shops.test' })
    const answer = await call(route, { token })
    expectContract(answer, null)
    if (!isTenantAccess(route.endpoint.access)) {
      expect([401, 403]).not.toContain(answer.status)
      expect(answer.status).toBeLessThan(500)
    } else {
      expectProblem(answer, 'tenant-not-selected')
    }
  })

  it.each(bySession)('$name accepts every role, and names the tenant', async (route) => {
    for (const role of ROLES) {
      const answer = await call(route, await sessionOf(role))
      expect([401, 403], role).not.toContain(answer.status)
      expect(answer.status, role).toBeLessThan(500)
      expectContract(answer, tenant)
    }
  })

  it.each(byPermission)('$name accepts exactly the roles that hold its permission', async (route) => {
    const permission = permissionOf(route)
    const admitted: string[] = []
    for (const role of ROLES) {
      const answer = await call(route, await sessionOf(role))
      expectContract(answer, tenant)
      expect([401, 500, 502], role).not.toContain(answer.status)
      if (answer.status === 403) expect(answer.body.type, role).toBe('about:blank')
      else admitted.push(role)
      expect(answer.text.replace(/"permission":"[a-z.]+"\}$/, ''), role).not.toContain(permission)
    }
    expect(admitted).toEqual(ROLES.filter((role) => held.get(role)?.has(permission) || held.get(role)?.has('*')))
  })

  it.each(open)('$name ignores credentials', async (route) => {
    const { token } = await sessionOf('viewer')
    for (const credentials of [undefined, 'Basic eDp5', `Bearer ${token}`, `Bearer ${dead['revoked']}`]) {
      const answer = await call(route, credentials === undefined ? {} : { headers: { authorization: credentials } })
      // The sample of a sign-in by a passkey is signed by nobody.
      const refusing = route.name === 'POST /v1/auth/login/passkey' ? [403] : [401, 403]
      expect(refusing).not.toContain(answer.status)
      expect(answer.status).toBeLessThan(500)
      expectContract(answer, null)
    }
  })

  it.each(byKey)('$name accepts a service key, and rejects everything else with the same 401', async (route) => {
    const { name, secret, authorization } = await mintServiceKey(service.sql)
    const send = (sent?: string) => call(route, sent === undefined ? {} : { headers: { authorization: sent } })
    const accepted = await send(authorization)
    expect(accepted.status).toBe(200)
    expectContract(accepted, null)
    // A client that leaves the encoding of RFC 6749 out.
    expect((await send(`basic ${btoa(`${name}:${secret}`)}`)).status).toBe(200)
    const absent = indistinguishable(await send())
    expect(absent).toMatchObject({ status: 401 })
    for (const refused of [
      `Bearer ${(await sessionOf('owner')).token}`,
      `Bearer ${secret}`,
      basic(name, newToken()),
      basic('another-service', secret),
      basic(name, hashToken(PEPPER, secret).toString('base64url')),
      basic(name, ''),
      basic('', secret),
      `Basic ${btoa(`${name}:${secret}:`)}`,
      `Basic ${btoa(`${name}%:${secret}`)}`,
      `Basic ${btoa(name)}`,
      'Basic ',
      'Basic ==',
      `Basic ${secret}`,
      `${authorization}, ${authorization}`,
    ]) {
      const answer = await send(refused)
      expectContract(answer, null)
      expect(indistinguishable(answer), refused).toEqual(absent)
      expect(answer.headers.get(CHALLENGE_HEADER)).toBe(SERVICE_CHALLENGE)
    }
  })

  it.each([READ, WRITE])('$name follows a change of the role’s permissions on the next request', async (route) => {
    const { token } = await sessionOf('production')
    const permission = permissionOf(route)
    expect((await call(route, { token })).status).toBe(403)
    await service.sql`insert into app.role_permissions (role_id, permission) values (6, ${permission})`
    expect((await call(route, { token })).status).toBe(200)
    await service.sql`delete from app.role_permissions where role_id = 6 and permission = ${permission}`
    expect((await call(route, { token })).status).toBe(403)
  })

  it.each([READ, WRITE])('$name follows a change of the member’s role on the next request', async (route) => {
    const email = `mover-${randomUUID()}@access.test`
    await createUser(service.sql, { email, role: 'owner', slugs: [SLUG] })
    const { token } = await mintSession(service.sql, { email, slug: SLUG })
    expect((await call(route, { token })).status).toBe(200)
    await service.sql`
      update app.memberships m set role_id = 7 from app.users u where u.id = m.user_id and u.email = ${email}`
    expect((await call(route, { token })).status).toBe(403)
  })

  it.each(withIds)('$name returns 404 for a resource of another tenant', async (route) => {
    const ids = await makeResource(service, route.endpoint.path, 'bolt-apparel')
    const { token } = await sessionOf('owner')
    const answer = await service.request(
      `${route.endpoint.method} ${withId(route.endpoint.path, ids)}${sampleQuery(route)}`,
      { token, body: sampleBody(route, ids) },
    )
    expect(answer.status).toBe(404)
    expectContract(answer, tenant)
  })

  it('finds a session only by the hash of pepper and token', async () => {
    const { id, token } = await sessionOf('owner')
    const status = async () => (await service.request('GET /v1/auth/session', { token })).status
    expect(await status()).toBe(200)
    await service.sql`update app.sessions set token_key = ${hashToken('', token)} where id = ${id}`
    expect(await status()).toBe(401)
    await service.sql`update app.sessions set token_key = ${hashToken(PEPPER, token)} where id = ${id}`
    expect(await status()).toBe(200)
  })
})
