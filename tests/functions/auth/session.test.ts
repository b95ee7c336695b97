import { createHash } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { group } from '#functions/api/auth/group.ts'
import { decodeSession, SESSION_HEADER } from '#shared/identity/session-header.ts'
import { startCounted } from '#tests/support/counted.ts'
import { gatewayEvent } from '#tests/support/event.ts'
import { createUser, createTenant, mintSession, tenantId } from '#tests/support/minted-session.ts'
import { useService } from '#tests/support/test.ts'

const IDLE_MS = 12 * 3600 * 1000

const service = useService()

const row = async (id: string): Promise<any> => {
  const [session] = await service.sql`select *, ctid::text as place, now() as now from app.sessions where id = ${id}`
  return session
}

const read = (token: string) => service.request('GET /v1/auth/session', { token })

const active = (email = 'sales@acme.test', slug = 'acme-print') => mintSession(service.sql, { email, slug })

describe('GET /v1/auth/session', () => {
  it('returns exactly the session, user, tenant, role and permissions', async () => {
    const { token, id } = await active()
    const { status, body } = await read(token)
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual([
      'session',
      'user',
      'tenant',
      'role',
      'permissions',
      'second_factor',
      'csrf_token',
    ])
    expect(Object.keys(body.session).toSorted()).toEqual([
      'absolute_expires_at',
      'id',
      'idle_expires_at',
      'second_factor_at',
      'stepped_up_at',
    ])
    expect(body.session.id).toBe(id)
    expect(Object.keys(body.user).toSorted()).toEqual([
      'avatar_url',
      'email',
      'email_verified_at',
      'full_name',
      'id',
      'language',
    ])
    expect(body.tenant).toEqual({
      id: await tenantId(service.sql, 'acme-print'),
      slug: 'acme-print',
      legal_name: 'Acme Print',
      status: 'active',
      timezone: 'America/New_York',
      currency: 'USD',
    })
    expect(body.role).toEqual({ id: 3, code: 'sales', label: 'Sales', rank: 60 })
  })

  it('returns the CSRF token of the session, before and after it selects a tenant', async () => {
    const { token, id } = await mintSession(service.sql, { email: 'sales@acme.test' })
    const expected = createHash('sha256')
      .update((await row(id)).csrf_secret)
      .update(id)
      .digest('base64url')
    expect((await read(token)).body.csrf_token).toBe(expected)
    const tenant = await tenantId(service.sql, 'acme-print')
    const selected = await service.request(`POST /v1/auth/tenants/${tenant}/select`, { token })
    expect(selected.body.csrf_token).toBe(expected)
    expect((await read(token)).body.csrf_token).toBe(expected)
    expect((await read((await active()).token)).body.csrf_token).not.toBe(expected)
  })

  it('comes along with a read that prefers it, also a refused one, and with nothing else', async () => {
    const { token } = await active('viewer@acme.test')
    const { body: me } = await read(token)
    const found = { ...me, session: { ...me.session, idle_expires_at: expect.any(String) } }
    const brought = async (
      route: string,
      { by = token, prefer = 'session', body }: { by?: string; prefer?: string; body?: object } = {},
    ) => {
      const { headers } = await service.request(route, { token: by, headers: { prefer }, body })
      return headers.get(SESSION_HEADER)
    }
    for (const route of [
      'GET /v1/roles',
      'GET /v1/members',
      'GET /v1/auth/tenants',
      `GET /v1/catalog/styles/${me.session.id}`,
    ])
      expect(decodeSession((await brought(route)) ?? expect.fail(route)), route).toEqual(found)
    expect(await brought('GET /v1/roles', { prefer: 'return=minimal' })).toBeNull()
    expect(await brought('GET /v1/roles', { by: 'A'.repeat(43) })).toBeNull()
    expect(await brought('PATCH /v1/tenant', { body: {} })).toBeNull()
    // API Gateway refuses 10 KB of headers.
    await service.sql`update app.users set avatar_url = repeat('界', 2000) where email = 'viewer@acme.test'`
    expect(await brought('GET /v1/roles')).toBeNull()
    await service.sql`update app.users set avatar_url = null where email = 'viewer@acme.test'`
  })

  it('lists each role’s permissions as stored, sorted, with * for an owner', async () => {
    for (const role of ['owner', 'admin', 'sales', 'account', 'designer', 'production', 'viewer']) {
      const { token } = await active(`${role}@acme.test`)
      const rows = await service.sql<{ permission: string }[]>`
        select p.permission from app.role_permissions p join app.roles r on r.id = p.role_id where r.code = ${role}`
      const { body } = await read(token)
      expect(body.permissions).toEqual(rows.map(({ permission }) => permission).toSorted())
      expect(body.permissions.includes('*')).toBe(role === 'owner')
    }
  })

  it('returns no tenant, role or permissions before a tenant is selected', async () => {
    const { token } = await mintSession(service.sql, { email: 'sales@acme.test' })
    expect((await read(token)).body).toMatchObject({
      tenant: null,
      role: null,
      permissions: [],
      second_factor: null,
    })
  })

  it('reflects changes of user, tenant and role on the next request', async () => {
    await createTenant(service.sql, 'changing-shop')
    await createUser(service.sql, { email: 'changing@session.test', role: 'viewer', slugs: ['changing-shop'] })
    const { token } = await active('changing@session.test', 'changing-shop')
    expect((await read(token)).body).toMatchObject({ role: { code: 'viewer' }, tenant: { status: 'active' } })
    await service.sql`update app.users set full_name = 'Renamed' where email = 'changing@session.test'`
    await service.sql`update app.tenants set status = 'past_due', legal_name = 'Renamed Shop' where slug = 'changing-shop'`
    await service.sql`
      update app.memberships m set role_id = 2 from app.users u where u.id = m.user_id and u.email = 'changing@session.test'`
    const { body } = await read(token)
    expect(body).toMatchObject({
      user: { full_name: 'Renamed' },
      tenant: { status: 'past_due', legal_name: 'Renamed Shop' },
      role: { code: 'admin' },
    })
    expect(body.permissions).toContain('member.manage')
  })

  it('accepts sessions of tenants in trial, active or past due', async () => {
    await createTenant(service.sql, 'open-shop')
    await createUser(service.sql, { email: 'open@session.test', slugs: ['open-shop'] })
    const { token } = await active('open@session.test', 'open-shop')
    for (const [status, expected] of [
      ['trial', 200],
      ['active', 200],
      ['past_due', 200],
      ['suspended', 401],
      ['cancelled', 401],
    ] as const) {
      await service.sql`update app.tenants set status = ${status} where slug = 'open-shop'`
      expect((await read(token)).status, status).toBe(expected)
    }
  })
})

describe('the idle expiry', () => {
  it('extends the idle expiry to twelve hours at each use', async () => {
    const { token, id } = await active()
    for (const left of ['1 second', '1 hour', '11 hours 59 minutes']) {
      await service.sql`update app.sessions set idle_expires_at = now() + ${left}::interval where id = ${id}`
      const before = await row(id)
      const { body } = await read(token)
      const after = await row(id)
      expect(after.idle_expires_at - after.last_seen_at).toBe(IDLE_MS)
      expect(after.last_seen_at >= before.now && after.last_seen_at <= after.now).toBe(true)
      expect(body.session.idle_expires_at).toBe(after.idle_expires_at.toISOString())
    }
  })

  it('extends the idle expiry even when the request is refused', async () => {
    const { token, id } = await active('viewer@acme.test')
    for (const [route, body, status] of [
      ['GET /v1/auth/tenants', undefined, 200],
      ['GET /v1/catalog/styles', undefined, 200],
      [`DELETE /v1/auth/sessions/${crypto.randomUUID()}`, undefined, 404],
      ['POST /v1/auth/password/change', {}, 422],
    ] as const) {
      await service.sql`update app.sessions set idle_expires_at = now() + interval '1 minute' where id = ${id}`
      expect((await service.request(route, { token, body })).status).toBe(status)
      const { idle_expires_at, last_seen_at } = await row(id)
      expect(idle_expires_at - last_seen_at, route).toBe(IDLE_MS)
    }
  })

  it('is written only when the step has passed, and a revoked session ends at its next use all the same', async () => {
    const { ask, close } = await startCounted(service.database, group, { SESSION_SLIDE_STEP_SECONDS: '60' })
    onTestFinished(close)
    const { token, id } = await active()
    const use = async (route = 'GET /v1/auth/session') =>
      (await ask(gatewayEvent({ route, headers: { authorization: `Bearer ${token}` } }))).status
    const seen = (ago: string) => service.sql`
      update app.sessions set idle_expires_at = now() + interval '1 hour', last_seen_at = now() - ${ago}::interval
       where id = ${id}`
    await seen('50 seconds')
    const { now: _, ...before } = await row(id)
    expect([await use(), await use('DELETE /v1/auth/sessions'), await use()]).toEqual([200, 204, 200])
    expect(await row(id)).toMatchObject(before)
    await seen('61 seconds')
    expect(await use()).toBe(200)
    const after = await row(id)
    expect(after.idle_expires_at - after.last_seen_at).toBe(IDLE_MS)
    await service.sql`update app.sessions set revoked_at = now() where id = ${id}`
    expect(await use()).toBe(401)
  })

  it('is written by HOT updates', async () => {
    const { id } = await active()
    await service.sql.begin(async (sql) => {
      const updates = async (): Promise<[all: number, hot: number]> => {
        const [count] = await sql`
          select pg_stat_get_xact_tuples_updated(c.oid)::int as all, pg_stat_get_xact_tuples_hot_updated(c.oid)::int as hot
            from pg_class c where c.oid = 'app.sessions'::regclass`
        return [count?.['all'], count?.['hot']]
      }
      const use = (step: number) =>
        sql`select from app.sessions s, app.authenticate(s.token_key, 60, ${step}) where s.id = ${id}`
      // The first update may move the row to a page with room.
      expect(await use(0)).toHaveLength(1)
      const [all, hot] = await updates()
      expect(await use(60)).toHaveLength(1)
      expect(await updates()).toEqual([all, hot])
      for (let writes = 1; writes <= 3; writes += 1) {
        expect(await use(0)).toHaveLength(1)
        expect(await updates()).toEqual([all + writes, hot + writes])
      }
    })
  })

  it('never extends the idle expiry beyond the absolute expiry', async () => {
    const { token, id } = await active()
    await service.sql`
      update app.sessions set idle_expires_at = now() + interval '1 minute', absolute_expires_at = now() + interval '1 hour'
       where id = ${id}`
    const { body } = await read(token)
    const { idle_expires_at, absolute_expires_at } = await row(id)
    expect(idle_expires_at).toEqual(absolute_expires_at)
    expect(body.session.idle_expires_at).toBe(body.session.absolute_expires_at)
  })

  it('rejects a session that was revoked or is past an expiry, even if just used, and does not extend it', async () => {
    const { token, id } = await active()
    expect((await read(token)).status).toBe(200)
    for (const end of [
      service.sql`update app.sessions set idle_expires_at = now() where id = ${id}`,
      service.sql`update app.sessions set idle_expires_at = now() + interval '1 hour', absolute_expires_at = now() where id = ${id}`,
      service.sql`
        update app.sessions set absolute_expires_at = now() + interval '1 day', revoked_at = now() where id = ${id}`,
    ]) {
      await end
      const before = await row(id)
      expect((await read(token)).status).toBe(401)
      const { idle_expires_at, last_seen_at } = await row(id)
      expect({ idle_expires_at, last_seen_at }).toEqual({
        idle_expires_at: before.idle_expires_at,
        last_seen_at: before.last_seen_at,
      })
    }
  })

  it('does not extend the idle expiry before a tenant is selected', async () => {
    const { token, id } = await mintSession(service.sql, { email: 'sales@acme.test' })
    await service.sql`update app.sessions set last_seen_at = now() - interval '1 hour' where id = ${id}`
    const before = await row(id)
    for (let use = 0; use < 3; use += 1) expect((await read(token)).status).toBe(200)
    const after = await row(id)
    expect(after.idle_expires_at).toEqual(before.idle_expires_at)
    expect(after.last_seen_at > before.last_seen_at).toBe(true)
    await service.sql`update app.sessions set idle_expires_at = now() where id = ${id}`
    expect((await read(token)).status).toBe(401)
  })

  it('extends the idle expiry when a tenant is selected', async () => {
    const { token, id } = await mintSession(service.sql, { email: 'sales@acme.test' })
    const tenant = await tenantId(service.sql, 'acme-print')
    const selected = await service.request(`POST /v1/auth/tenants/${tenant}/select`, { token })
    const { idle_expires_at, last_seen_at } = await row(id)
    expect(idle_expires_at - last_seen_at).toBe(IDLE_MS)
    expect(selected.body.session.idle_expires_at).toBe(idle_expires_at.toISOString())
  })
})

describe('the absolute expiry', () => {
  it('never moves the absolute expiry of a session', async () => {
    const { token, id } = await mintSession(service.sql, { email: 'both@shops.test' })
    const { absolute_expires_at: end } = await row(id)
    const tenants = [await tenantId(service.sql, 'acme-print'), await tenantId(service.sql, 'bolt-apparel')]
    for (const route of [
      'GET /v1/auth/session',
      'GET /v1/auth/tenants',
      ...tenants.map((tenant) => `POST /v1/auth/tenants/${tenant}/select`),
      'GET /v1/catalog/styles',
      'DELETE /v1/auth/sessions',
      'DELETE /v1/auth/session',
    ]) {
      expect((await service.request(route, { token })).status, route).toBeLessThan(300)
      expect((await row(id)).absolute_expires_at, route).toEqual(end)
    }
  })
})

describe('DELETE /v1/auth/session', () => {
  it('ends only the calling session, with or without a tenant', async () => {
    for (const slug of ['acme-print', null]) {
      const [ended, kept] = [
        await mintSession(service.sql, { email: 'sales@acme.test', slug }),
        await mintSession(service.sql, { email: 'sales@acme.test', slug }),
      ]
      const answer = await service.request('DELETE /v1/auth/session', { token: ended.token })
      expect(answer.status).toBe(204)
      expect(answer.text).toBe('')
      expect((await row(ended.id)).revoked_at).not.toBeNull()
      expect((await read(ended.token)).status).toBe(401)
      expect((await service.request('DELETE /v1/auth/session', { token: ended.token })).status).toBe(401)
      expect((await read(kept.token)).status).toBe(200)
    }
  })
})

describe('GET /v1/auth/tenants', () => {
  it('takes two statements: the session check and the list', async () => {
    const { ask, close } = await startCounted(service.database, group)
    onTestFinished(close)
    const { token } = await active()
    const list = () =>
      ask(gatewayEvent({ route: 'GET /v1/auth/tenants', headers: { authorization: `Bearer ${token}` } }))
    await list()
    expect(await list()).toMatchObject({ status: 200, cost: { statements: 2, roundTrips: 2 } })
  })

  it('lists exactly the user’s live memberships in open and suspended tenants', async () => {
    const unlisted = ['cancelled', 'deleted', 'revoked', 'accepted'].map((what) => `not-${what}`)
    const slugs = ['listed-b', 'listed-a', 'listed-c', ...unlisted]
    for (const slug of slugs) await createTenant(service.sql, slug)
    await createUser(service.sql, { email: 'chooser@session.test', role: 'designer', slugs })
    await service.sql`update app.tenants set status = 'trial' where slug = 'listed-a'`
    await service.sql`update app.tenants set status = 'suspended' where slug = 'listed-c'`
    await service.sql`update app.tenants set status = 'cancelled' where slug = 'not-cancelled'`
    await service.sql`update app.tenants set deleted_at = now() where slug = 'not-deleted'`
    await service.sql`update app.memberships set revoked_at = now()
      where role_id <> 1 and tenant_id = (select id from app.tenants where slug = 'not-revoked')`
    await service.sql`update app.memberships set accepted_at = null
      where role_id <> 1 and tenant_id = (select id from app.tenants where slug = 'not-accepted')`
    for (const slug of [null, 'listed-b']) {
      const { token } = await mintSession(service.sql, { email: 'chooser@session.test', slug })
      const { status, body } = await service.request('GET /v1/auth/tenants', { token })
      expect(status).toBe(200)
      expect(Object.keys(body)).toEqual(['data'])
      const memberships = await service.sql<{ slug: string; id: string }[]>`
        select t.slug, m.id from app.memberships m
          join app.tenants t on t.id = m.tenant_id
          join app.users u on u.id = m.user_id and u.email = 'chooser@session.test'
         where t.slug in ('listed-a', 'listed-b', 'listed-c')`
      expect(body.data).toEqual(
        await Promise.all(
          [
            { slug: 'listed-a', status: 'trial' },
            { slug: 'listed-b', status: 'active' },
            { slug: 'listed-c', status: 'suspended' },
          ].map(async ({ slug, status }) => ({
            membership_id: memberships.find((membership) => membership.slug === slug)?.id,
            tenant: { id: await tenantId(service.sql, slug), slug, legal_name: `Shop ${slug}`, status },
            role: { code: 'designer', label: 'Designer', rank: 50 },
            second_factor: null,
            selected_at: null,
          })),
        ),
      )
    }
  })

  it('says when the user selected each tenant last, and refuses the selection of a suspended one', async () => {
    for (const slug of ['used-a', 'used-b']) await createTenant(service.sql, slug)
    await createUser(service.sql, { email: 'switcher@session.test', slugs: ['used-a', 'used-b'] })
    const { token } = await mintSession(service.sql, { email: 'switcher@session.test' })
    const select = async (slug: string) =>
      service.request(`POST /v1/auth/tenants/${await tenantId(service.sql, slug)}/select`, { token })
    const times = async () => {
      const { body } = await service.request('GET /v1/auth/tenants', { token })
      return body.data.map((each: { selected_at: string | null }) => each.selected_at)
    }
    expect(await times()).toEqual([null, null])
    expect((await select('used-b')).status).toBe(200)
    const [, first] = await times()
    expect(await times()).toEqual([null, expect.stringMatching(/Z$/)])
    await select('used-a')
    expect(await times()).toEqual([expect.stringMatching(/Z$/), first])
    await service.sql`update app.tenants set status = 'suspended' where slug = 'used-b'`
    expect((await select('used-b')).status).toBe(404)
  })

  it('lists no tenants for a user without memberships', async () => {
    const { token } = await mintSession(service.sql, { email: 'nobody@shops.test' })
    expect((await service.request('GET /v1/auth/tenants', { token })).body).toEqual({ data: [] })
  })
})
