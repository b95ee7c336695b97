import * as oauth from 'openid-client'
import type postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { maintain } from '#functions/workers/maintain/maintain.ts'
import { introspectToken } from '#functions/api/services/queries.ts'
import { createClient } from '#shared/client/client.ts'
import { PERMISSIONS } from '#shared/identity/permissions.ts'
import { newApiKey } from '#shared/secret/api-key.ts'
import { hashToken, newToken } from '#shared/secret/secret.ts'
import { connectTo } from '#tests/support/access.ts'
import { expectProblem } from '#tests/support/expect-answer.ts'
import { newFactorUser, openSignIn } from '#tests/support/factor.ts'
import { mintKey } from '#tests/support/minted-key.ts'
import { basic, mintServiceKey, type ServiceKey } from '#tests/support/service-key.ts'
import { type Answer, PEPPER } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const LIMIT = 5
const service = useService({ env: { SERVICE_KEY_LIMIT: String(LIMIT), TRUSTED_PROXIES: '127.0.0.0/8' } })
let key: ServiceKey
beforeAll(async () => {
  key = await mintServiceKey(service.sql)
})

const introspect = (token: string, authorization = key.authorization): Promise<Answer> =>
  service.request('POST /v1/introspect', {
    headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
  })
const INACTIVE = { active: false }

describe('introspect', () => {
  it('returns whose session it is and what its role may do, and slides its idle expiry', async () => {
    const { sales, owner, id } = await service.newTenant('sales', 'owner')
    await service.sql`update app.sessions set idle_expires_at = now() + interval '1 minute' where id = ${sales.id}`
    const { status, headers, body } = await introspect(sales.token)
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
    const [row] = await service.sql`
      select floor(extract(epoch from idle_expires_at))::integer as exp, idle_expires_at > now() + interval '1 hour' as slid,
             floor(extract(epoch from created_at))::integer as auth_time
        from app.sessions where id = ${sales.id}`
    expect(row?.['slid']).toBe(true)
    const { scope, ...rest } = body
    const claims = {
      active: true,
      token_type: 'Bearer',
      kind: 'session',
      sub: sales.userId,
      tenant_id: id,
      role: 'sales',
      sid: sales.id,
    }
    expect(rest).toEqual({ ...claims, exp: row?.['exp'], auth_time: row?.['auth_time'], acr: 'aal1' })
    const granted = await service.sql<{ permission: string }[]>`
      select permission from app.role_permissions p join app.roles r on r.id = p.role_id where r.code = 'sales'`
    expect(scope.split(' ').toSorted()).toEqual(granted.map(({ permission }) => permission).toSorted())
    expect((await introspect(owner.token)).body.scope.split(' ')).toEqual([...PERMISSIONS])
  })

  it('says when the user last proved their presence, and whether by a second factor', async () => {
    const { sales } = await service.newTenant('sales')
    const change = (set: string) => service.sql.unsafe(`update app.sessions set ${set} where id = $1`, [sales.id])
    const claims = async () => {
      const { auth_time: at, acr } = (await introspect(sales.token)).body
      return { at, acr }
    }
    await change(
      `created_at = to_timestamp(1790000000), stepped_up_at = to_timestamp(1790000500.9), second_factor_at = now()`,
    )
    expect(await claims()).toEqual({ at: 1_790_000_500, acr: 'aal2' })
    await change(`stepped_up_at = null, second_factor_at = null`)
    expect(await claims()).toEqual({ at: 1_790_000_000, acr: 'aal1' })
  })

  it('returns which API key it is, what it may do and until when, and counts no request of it', async () => {
    const { id: tenant } = await service.newTenant('owner')
    const { id, key: sent } = await mintKey(service.sql, { tenant, permissions: ['deal.read', 'catalog.read'] })
    const [row] =
      await service.sql`select floor(extract(epoch from expires_at))::int as exp from app.api_keys where id = ${id}`
    const claims = { active: true, token_type: 'Bearer', kind: 'key', sub: id, tenant_id: tenant, exp: row?.['exp'] }
    expect((await introspect(sent)).body).toEqual({ ...claims, scope: 'catalog.read deal.read' })
    await service.sql`
      update app.api_keys set previous_hash = key_hash, previous_expires_at = now() + interval '1 minute', generation = 1,
                              key_hash = ${hashToken(PEPPER, newApiKey())} where id = ${id}`
    expect((await introspect(sent)).body.active).toBe(true)
    for (const end of [
      `previous_expires_at = now() - interval '1 second'`,
      `previous_expires_at = now() + interval '1 minute', revoked_at = now()`,
    ]) {
      await service.sql.unsafe(`update app.api_keys set ${end} where id = '${id}'`)
      expect((await introspect(sent)).body, end).toEqual(INACTIVE)
    }
    expect((await introspect(newApiKey())).body).toEqual(INACTIVE)
  })

  it('returns inactive for the token of a sign-in that owes its second factor', async () => {
    const { email } = await newFactorUser(service)
    expect((await introspect(await openSignIn(service, email))).body).toEqual(INACTIVE)
  })

  it.each<[string, (of: { id: string; userId: string; slug: string }) => PromiseLike<unknown>]>([
    ['is revoked', ({ id }) => service.sql`update app.sessions set revoked_at = now() where id = ${id}`],
    ['expired', ({ id }) => service.sql`update app.sessions set idle_expires_at = now() where id = ${id}`],
    ['has selected no tenant', ({ id }) => service.sql`update app.sessions set tenant_id = null where id = ${id}`],
    [
      'is of a revoked member',
      ({ userId }) => service.sql`
      update app.memberships set revoked_at = now() where user_id = ${userId}`,
    ],
    [
      'is of a disabled user',
      ({ userId }) => service.sql`update app.users set disabled_at = now() where id = ${userId}`,
    ],
    [
      'is of a suspended tenant',
      ({ slug }) => service.sql`
      update app.tenants set status = 'suspended' where slug = ${slug}`,
    ],
  ])('returns inactive on the next request when the session %s', async (_, end) => {
    const { sales, slug } = await service.newTenant('sales')
    expect((await introspect(sales.token)).body.active).toBe(true)
    await end({ ...sales, slug })
    expect((await introspect(sales.token)).body).toEqual(INACTIVE)
  })

  it('returns inactive for every text that is no token', async () => {
    const { sales } = await service.newTenant('sales')
    for (const token of [
      newToken(),
      '',
      ' ',
      `${sales.token} `,
      sales.token.slice(1),
      `${sales.token}=`,
      '🗝️',
      key.secret,
    ])
      expect((await introspect(token)).body, token).toEqual(INACTIVE)
  })

  it('rejects a form without a token, with two tokens, or that is no UTF-8', async () => {
    const send = (body: string, type = 'application/x-www-form-urlencoded;charset=UTF-8') =>
      service.request('POST /v1/introspect', {
        headers: { authorization: key.authorization, 'content-type': type },
        body,
      })
    for (const body of ['', 'token_type_hint=access_token', 'token=a&token=b', '__proto__=a'])
      expectProblem(await send(body), 'validation-failed', body)
    expect((await send('token=%ff&resource=ignored')).body).toEqual(INACTIVE)
    expect((await send('token=a', 'application/x-www-form-urlencoded; charset=utf-16')).status).toBe(415)
    expect((await send('token=a', 'multipart/form-data; boundary=x')).status).toBe(415)
  })

  it('serves an OAuth client that nobody here wrote', async () => {
    const { sales, id } = await service.newTenant('sales')
    const clientOf = (secret: string) => {
      const server = { issuer: service.gateway.url, introspection_endpoint: `${service.gateway.url}/v1/introspect` }
      const client = new oauth.Configuration(server, key.name, undefined, oauth.ClientSecretBasic(secret))
      oauth.allowInsecureRequests(client)
      return client
    }
    const client = clientOf(key.secret)
    expect(await oauth.tokenIntrospection(client, sales.token)).toMatchObject({ active: true, tenant_id: id })
    await service.sql`update app.sessions set revoked_at = now() where id = ${sales.id}`
    expect(await oauth.tokenIntrospection(client, sales.token, { token_type_hint: 'access_token' })).toEqual(INACTIVE)
    await expect(oauth.tokenIntrospection(clientOf(newToken()), sales.token)).rejects.toMatchObject({
      cause: { status: 401 },
    })
  })
})

describe('a service key', () => {
  const status = async ({ authorization }: ServiceKey) => (await introspect(newToken(), authorization)).status

  it('is refused on the next request once it is revoked or has expired', async () => {
    for (const end of ['revoked_at', 'expires_at']) {
      const ending = await mintServiceKey(service.sql)
      expect(await status(ending)).toBe(200)
      await service.sql`update app.service_keys set ${service.sql(end)} = now() where name = ${ending.name}`
      expect(await status(ending)).toBe(401)
    }
  })

  it('is stored under the current pepper once it was used during a rotation, and says when it was last used', async () => {
    const { name, secret } = await mintServiceKey(service.sql)
    const hash = hashToken('the next pepper', secret)
    const database = connectTo(service.database.urls.services)
    afterAll(() => database.close())
    const use = (hashes: readonly [Buffer, Buffer | null]) =>
      introspectToken(
        database.call.repeatable,
        { name, key: hashes },
        { hashes: [null, null], isApiKey: false },
        service.runtime.config.session,
      )
    const stored = async () =>
      (await service.sql`select key_hash, used_at from app.service_keys where name = ${name}`)[0]
    expect((await stored())?.['used_at']).toBeNull()
    expect(await use([hash, hashToken(PEPPER, secret)])).toBeNull()
    expect(await stored()).toEqual({ key_hash: hash, used_at: expect.any(Date) })
    expect(await use([hash, null])).toBeNull()
    expect(await use([hashToken(PEPPER, secret), null])).toBe('wrong key')
  })

  it('is limited in wrong ones from a network, while a right one is accepted', async () => {
    const from = (ip: string, authorization: string) =>
      service.request('GET /v1/changes', { headers: { authorization, 'x-forwarded-for': ip } })
    const wrong = async (ip = '192.0.2.1') => (await from(ip, basic(key.name, newToken()))).status
    const seen = []
    for (let attempt = 0; attempt <= LIMIT; attempt += 1) seen.push(await wrong())
    expect(seen).toEqual([...Array.from({ length: LIMIT }, () => 401), 429])
    expect((await from('192.0.2.1', key.authorization)).status).toBe(200)
    expect(await wrong('192.0.2.2')).toBe(401)
  })

  it('is in no log, and neither is the token', async () => {
    const { sales } = await service.newTenant('sales')
    const wrong = newToken()
    const lines = await service.logged(async () => {
      await introspect(sales.token)
      await introspect(sales.token, basic(key.name, wrong))
      await introspect(sales.token, `Basic ${key.secret}`)
      await service.request('GET /v1/changes?after=x', { headers: { authorization: key.authorization } })
    })
    expect(lines).toContain('"request_id"')
    for (const secret of [sales.token, wrong, key.secret, key.authorization.slice(6)])
      expect(lines).not.toContain(secret)
  })
})

describe('list-changes', () => {
  const list = async (after: string | null, limit = 100): Promise<{ data: any[]; next: string; complete: boolean }> => {
    const search = new URLSearchParams({ limit: String(limit), ...(after === null ? {} : { after }) })
    const answer = await service.request(`GET /v1/changes?${search.toString()}`, {
      headers: { authorization: key.authorization },
    })
    expect(answer.status, answer.text).toBe(200)
    return answer.body
  }
  const ask = (after: string): Promise<Answer> =>
    service.request(`GET /v1/changes?after=${after}`, { headers: { authorization: key.authorization } })
  const idsIn = ({ data }: { data: any[] }) => data.map(({ detail }) => detail.subject.id)
  /** Reads pages of one event until the last. */
  const all = async (after: string | null) => {
    const read = []
    let page = await list(after, 1)
    for (; page.data.length > 0; page = await list(page.next, 1)) read.push(...page.data)
    return { data: read, next: page.next }
  }
  const record = (sql: postgres.ISql, tenantId: string, design: string) => sql`
    insert into app.audit_log (tenant_id, action, target_type, target_id) values (${tenantId}, 'design.created', 'design', ${design})`

  it('returns the events of all tenants oldest first, as the bus has them, each once, however small the pages are', async () => {
    const { next } = await all(null)
    const made = []
    for (const tenant of [await service.newTenant('owner'), await service.newTenant('owner')]) {
      const { body } = await service.request('POST /v1/designs', {
        token: tenant.owner.token,
        body: { name: 'A name' },
      })
      made.push({ id: body.id, tenant: tenant.id, user: tenant.owner.userId })
    }
    // A transaction of another test may be open in the cluster.
    await expect.poll(async () => (await list(next)).data.length, { timeout: 20_000 }).toBe(2)
    const { data } = await all(next)
    expect(data).toEqual(
      made.map(({ id, tenant, user }) => ({
        action: 'design.created',
        detail: {
          id: expect.any(String),
          schema: 1,
          occurred_at: expect.any(String),
          tenant_id: tenant,
          actor: { type: 'user', id: user },
          subject: { type: 'design', id },
          before: null,
          after: null,
        },
      })),
    )
    const end = await list((await list(next)).next)
    expect(end.data).toEqual([])
    expect((await list(end.next)).data).toEqual([])
  })

  it('misses no event of a transaction that commits after a later one', async () => {
    const { id } = await service.newTenant('owner')
    const { next } = await all(null)
    const [early, late] = [crypto.randomUUID(), crypto.randomUUID()]
    await service.sql.begin(async (sql) => {
      await record(sql, id, early)
      await record(service.sql, id, late)
      expect(await list(next)).toMatchObject({ data: [], complete: false })
    })
    await expect.poll(async () => idsIn(await all(next)), { timeout: 20_000 }).toEqual([early, late])
    expect((await list(next, 1)).complete).toBe(false)
    await expect.poll(async () => (await list(next)).complete, { timeout: 20_000 }).toBe(true)
  })

  it('is read by the typed client with a service key', async () => {
    const { call } = createClient({ baseUrl: service.gateway.url, serviceKey: { name: key.name, key: key.secret } })
    const { data, next } = await call('GET /v1/changes', { query: { limit: 1 } })
    expect(data.length).toBeLessThanOrEqual(1)
    expect((await call('GET /v1/changes', { query: { after: next } })).next).toEqual(expect.any(String))
    expect(await call('POST /v1/introspect', { body: { token: newToken() } })).toEqual(INACTIVE)
  })

  it('rejects a position that it did not return', async () => {
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const id = '00000000-0000-0000-0000-000000000000'
    for (const after of [
      '',
      'x',
      encode([1, id]),
      encode(['-1', id]),
      encode([String(2n ** 64n), id]),
      encode(['1', '1']),
    ]) {
      expectProblem(await ask(after), 'validation-failed', after)
    }
    expectProblem(await ask(encode([String(2n ** 64n - 1n), id])), 'position-expired')
  })

  it('rejects a position after which an event was deleted, and no other', async () => {
    const { id } = await service.newTenant('owner')
    const { next: before } = await all(null)
    const designs = Array.from({ length: 3 }, () => crypto.randomUUID())
    for (const design of designs) await record(service.sql, id, design)
    await expect.poll(async () => idsIn(await all(before)), { timeout: 20_000 }).toEqual(designs)
    const one = await list(before, 1)
    const two = await list(one.next, 1)
    const worker = connectTo(service.database.urls.worker)
    afterAll(() => worker.close())
    /** Deletes the events up to this place: their jobs ended a month ago, and are deleted already. */
    const deleteUpTo = async ({ data }: { data: any[] }) => {
      const last = data.at(-1).detail.id
      await service.sql`
        update app.events e set job_id = gen_random_uuid() from app.events last
         where last.id = ${last} and (e.xact, e.id) <= (last.xact, last.id)`
      await maintain(worker.sql, () => false)
    }
    await service.sql`update app.events set job_id = gen_random_uuid() where target_id = ${designs[1] ?? ''}`
    await maintain(worker.sql, () => false)
    // It stays, because an older one has not reached the bus yet.
    expect(idsIn(await all(before))).toEqual(designs)
    await deleteUpTo(two)
    expectProblem(await ask(before), 'position-expired')
    expectProblem(await ask(one.next), 'position-expired')
    expect(idsIn(await list(two.next))).toEqual(designs.slice(2))
    expect(idsIn(await all(null))).toEqual(designs.slice(2))
    const end = await all(two.next)
    await deleteUpTo(end)
    expectProblem(await ask(two.next), 'position-expired')
    for (const position of [end.next, (await list(null)).next]) expect((await list(position)).data).toEqual([])
  })
})
