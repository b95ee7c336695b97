import { describe, expect, it } from 'vitest'
import { isTenantAccess } from '#shared/http/access.ts'
import { expectProblem } from '#tests/support/expect-answer.ts'
import { createUser, mintSession } from '#tests/support/minted-session.ts'
import { type Route, routes, takesId, withId, withUnknownId } from '#tests/support/routes.ts'
import { makeResource, sampleBody } from '#tests/support/samples.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

/** Every route that a session needs a step-up for. Each other route is daily work. */
const STEP_UP = {
  'POST /v1/auth/factors/setup-code': 'again',
  'POST /v1/auth/factors/draft': 'again',
  'GET /v1/auth/factors/draft': 'again',
  'POST /v1/auth/factors/totp': 'again',
  'POST /v1/auth/factors/passkey-options': 'again',
  'POST /v1/auth/factors/passkey': 'again',
  'POST /v1/auth/factors/recovery-codes': 'again',
  'DELETE /v1/auth/factors/{id}': 'again',
  'POST /v1/auth/password/change': 'two-factor',
  'DELETE /v1/auth/sessions': true,
  'DELETE /v1/auth/tenants/{id}': true,
  'DELETE /v1/auth/sessions/{id}': true,
  'POST /v1/members/invite': true,
  'PATCH /v1/members/{id}': true,
  'DELETE /v1/members/{id}': true,
  'DELETE /v1/members/{id}/sessions': true,
  'POST /v1/api-keys': true,
  'PATCH /v1/api-keys/{id}': true,
  'POST /v1/api-keys/{id}/rotate': true,
  'DELETE /v1/api-keys/{id}': true,
  'POST /v1/members/{id}/factor-reset': true,
  'POST /v1/roles': true,
  'PATCH /v1/roles/{id}': true,
  'DELETE /v1/roles/{id}': true,
  'POST /v1/vendor-accounts': true,
  'PUT /v1/tenant/second-factor-policy': true,
  'PUT /v1/vendor-accounts/{id}/secret': true,
  'DELETE /v1/vendor-accounts/{id}': true,
}

const SLUG = 'acme-print'
const STEP_UP_SECONDS = 90

const service = useService({ env: { STEP_UP_SECONDS: String(STEP_UP_SECONDS) } })
const guarded = routes.filter(({ endpoint }) => endpoint.stepUp !== null)

let users = 0

/** A session of a new user, whose last step-up is so many seconds old, a day after the sign-in unless `atSignIn`. */
async function sessionOf(
  steppedUpSecondsAgo: number,
  {
    role = 'owner',
    twoFactor = true,
    atSignIn = false,
  }: { role?: string; twoFactor?: boolean; atSignIn?: boolean } = {},
) {
  users += 1
  const email = `stepper${users}x@acme.test`
  await createUser(service.sql, { email, role, slugs: [SLUG] })
  await service.sql`
    update app.users set password_hash = (select password_hash from app.users where email = 'sales@acme.test') where email = ${email}`
  const session = await mintSession(service.sql, { email, slug: SLUG })
  await service.sql`
    update app.sessions
       set stepped_up_at = now() - make_interval(secs => ${steppedUpSecondsAgo}),
           created_at = now() - make_interval(secs => ${atSignIn ? steppedUpSecondsAgo : 86_400}),
           second_factor_at = case when ${twoFactor} then now() end
     where id = ${session.id}`
  return session
}

const isPermitted = ({ endpoint: { access } }: Route) => isTenantAccess(access) && access.permission !== null

/** Sends what the route accepts, for a resource that nobody has unless one is given. */
const call = ({ name, endpoint }: Route, token: string, path = withUnknownId(endpoint.path)) =>
  service.request(`${endpoint.method} ${path}`, {
    token,
    body:
      name === 'POST /v1/auth/password/change'
        ? { current_password: PASSWORD, new_password: 'a passphrase that steps up' }
        : sampleBody({ name, endpoint }),
  })

describe('step-up', () => {
  it('is required by exactly these routes', () => {
    expect(Object.fromEntries(guarded.map(({ name, endpoint }) => [name, endpoint.stepUp]))).toEqual(STEP_UP)
  })

  it.each(guarded)(
    '$name refuses a step-up that is too old or missing before it reads the body, and accepts one in time',
    async (route) => {
      const unread = route.endpoint.body === null ? {} : { body: '{', headers: { 'content-type': 'application/json' } }
      const stale = await sessionOf(STEP_UP_SECONDS + 1)
      const name = `${route.endpoint.method} ${withUnknownId(route.endpoint.path)}`
      expectProblem(await service.request(name, { ...unread, token: stale.token }), 'step-up-required')
      await service.sql`update app.sessions set stepped_up_at = null where id = ${stale.id}`
      expectProblem(await service.request(name, { ...unread, token: stale.token }), 'step-up-required')
      const fresh = await sessionOf(STEP_UP_SECONDS - 30)
      expect((await call(route, fresh.token)).body?.type ?? '').not.toMatch(/step-up-required$/)
    },
  )

  it.each(guarded)('$name is refused by the database too, by its own clock', async (route) => {
    const resource = takesId(route.endpoint.path)
      ? withId(route.endpoint.path, await makeResource(service, route.endpoint.path, SLUG))
      : route.endpoint.path
    const { token } = await sessionOf(STEP_UP_SECONDS + 1)
    const [check] = await service.sql<{ definition: string }[]>`
      select pg_get_functiondef('app.authenticate'::regproc) as definition`
    const before = check?.definition ?? ''
    const lying = before.replace('v_live.ticket :=', 'v_live.stepped_up_at := now();\n  v_live.ticket :=')
    expect(lying).not.toBe(before)
    await service.sql.unsafe(lying)
    try {
      expectProblem(await call(route, token, resource), 'step-up-required')
    } finally {
      await service.sql.unsafe(before)
    }
  })

  it.each(guarded.filter(({ endpoint }) => endpoint.stepUp === 'again'))(
    '$name refuses a two-factor session that has only signed in',
    async (route) => {
      const signedIn = await sessionOf(1, { atSignIn: true })
      expectProblem(await call(route, signedIn.token), 'step-up-required')
      const oneFactor = await sessionOf(1, { atSignIn: true, twoFactor: false })
      expect((await call(route, oneFactor.token)).body?.type ?? '').not.toMatch(/step-up-required$/)
    },
  )

  it.each(guarded.filter(isPermitted))('$name refuses a role without the permission as before', async (route) => {
    const { token } = await sessionOf(STEP_UP_SECONDS + 1, { role: 'viewer' })
    const refused = await call(route, token)
    expect(refused.status).toBe(403)
    expect(refused.body.type).toBe('about:blank')
  })

  it('is not asked of a session with one factor that changes its password: the current one is the proof', async () => {
    const { token } = await sessionOf(86_400, { twoFactor: false })
    const body = { current_password: PASSWORD, new_password: 'a passphrase that steps up' }
    expect((await service.request('POST /v1/auth/password/change', { token, body })).status).toBe(204)
  })

  it('lets a refused request through with the new token of the session, and no request with the old one', async () => {
    const { token } = await sessionOf(STEP_UP_SECONDS + 1, { twoFactor: false })
    const body = { email: 'stepped@samples.test', role: 'viewer' }
    expectProblem(await service.request('POST /v1/members/invite', { token, body }), 'step-up-required')
    const stepped = await service.request('POST /v1/auth/step-up', { token, body: { password: PASSWORD } })
    expect((await service.request('POST /v1/members/invite', { token, body })).status).toBe(401)
    expect((await service.request('POST /v1/members/invite', { token: stepped.body.token, body })).status).toBe(200)
  })

  it('is no part of the daily work: a session of a day ago reads, renews an invitation, changes the tenant and signs out', async () => {
    const invited = { email: 'daily@samples.test', role: 'viewer' }
    const { token: fresh } = await sessionOf(1)
    const { id } = (await service.request('POST /v1/members/invite', { token: fresh, body: invited })).body
    await service.sql`update app.tokens set created_at = created_at - interval '1 hour' where email = ${invited.email}`
    const { token } = await sessionOf(86_400)
    for (const [route, body] of [
      ['GET /v1/members'],
      [`POST /v1/members/invitations/${id}/resend`],
      [`DELETE /v1/members/invitations/${id}`],
      ['PATCH /v1/tenant', { timezone: 'America/New_York' }],
      ['PATCH /v1/auth/profile', { language: 'es' }],
      ['DELETE /v1/auth/session'],
    ] as const)
      expect((await service.request(route, { token, body })).status, route).toBeLessThan(300)
  })
})
