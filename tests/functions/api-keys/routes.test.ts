import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isApiKey, newApiKey } from '#shared/secret/api-key.ts'
import { mayKeysHold, PERMISSIONS } from '#shared/identity/permissions.ts'
import { mintKey } from '#tests/support/minted-key.ts'
import { startService, type TestService } from '#tests/support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService({ env: { API_KEY_MAX_PER_TENANT: '3', API_KEY_REVOKE_LIMIT: '1000' } })
})
afterAll(() => service.close())

const request = (route: string, token: string, body?: unknown) => service.request(route, { token, body })
const create = (token: string, body: object = {}) =>
  request('POST /v1/api-keys', token, { name: 'Nightly export', permissions: ['deal.read', 'deal.write'], ...body })
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()

describe('creating a key', () => {
  it('shows it once, and stores no text of it', async () => {
    const { owner, id: tenant } = await service.newTenant('owner')
    const made = await create(owner.token)
    expect(made.status).toBe(200)
    const { key, ...shown } = made.body
    expect(isApiKey(key)).toBe(true)
    expect(shown).toMatchObject({
      name: 'Nightly export',
      hint: key.slice(-4),
      permissions: ['deal.read', 'deal.write'],
      status: 'live',
      created_by: { id: owner.userId },
      last_used_at: null,
      revoked_at: null,
    })
    expect(Date.parse(shown.expires_at)).toBeGreaterThan(Date.parse(inDays(89)))
    expect((await request(`GET /v1/api-keys/${shown.id}`, owner.token)).body).toEqual(shown)
    expect((await request('GET /v1/api-keys', owner.token)).body.data).toEqual([shown])
    const [{ dump = '' } = {}] = await service.sql`
      select (select string_agg(t::text, ' ') from app.audit_log t where tenant_id = ${tenant})
          || (select string_agg(t::text, ' ') from app.events t where tenant_id = ${tenant})
          || (select string_agg(t::text, ' ') from app.jobs t where tenant_id = ${tenant})
          || coalesce((select string_agg(t::text, ' ') from app.replies t), '') as dump`
    expect(dump).not.toContain('tnk_')
    expect(dump).not.toContain(key.slice(4, 20))
  })

  it('publishes its id, its permissions and its expiry, and never its name or hint', async () => {
    const { owner, id: tenant } = await service.newTenant('owner')
    const { body } = await create(owner.token)
    const events = await service.sql`
      select action, actor_user_id as actor, target_id as target, after from app.events where tenant_id = ${tenant} and action like 'api_key%'`
    expect(events).toEqual([
      {
        action: 'api_key.created',
        actor: owner.userId,
        target: body.id,
        after: { permissions: ['deal.read', 'deal.write'], expires_at: body.expires_at.replace(/\.\d+/, '') },
      },
    ])
  })

  it('gives each role what it holds and keys may hold, and refuses anything else with one text', async () => {
    const tenant = await service.newTenant('owner', 'admin', 'sales', 'account', 'designer', 'production', 'viewer')
    await service.sql`delete from app.api_keys where tenant_id = ${tenant.id}`
    const details = new Set()
    for (const role of ['owner', 'admin'] as const) {
      const { body } = await request('GET /v1/auth/session', tenant[role].token)
      for (const permission of [...PERMISSIONS, '*', 'no.such']) {
        const made = await create(tenant[role].token, {
          name: `${role} ${permission}`,
          permissions: ['company.read', permission],
        })
        const holds = body.permissions.includes('*') || body.permissions.includes(permission)
        const may = holds && PERMISSIONS.some((each) => each === permission && mayKeysHold(each))
        expect(made.status, `${role} ${permission}`).toBe(may ? 200 : 422)
        if (may) await request(`DELETE /v1/api-keys/${made.body.id}`, tenant[role].token)
        else {
          expect(made.body.errors).toMatchObject([{ pointer: '#/permissions/1' }])
          details.add(made.body.errors[0].detail)
        }
      }
    }
    expect(details.size).toBe(1)
    for (const role of ['sales', 'account', 'designer', 'production', 'viewer'] as const)
      expect((await create(tenant[role].token)).status, role).toBe(403)
  })

  it('refuses a time that is too near or too far, a name of a live key, and one key too many', async () => {
    const { owner } = await service.newTenant('owner')
    for (const expires_at of [inDays(0.03), inDays(367), '2020-01-01T00:00:00Z'])
      expect(await create(owner.token, { expires_at })).toMatchObject({
        status: 422,
        body: { errors: [{ pointer: '#/expires_at' }] },
      })
    const first = await create(owner.token, { expires_at: inDays(365) })
    expect(first.status).toBe(200)
    expect((await create(owner.token, { name: 'NIGHTLY export' })).body.type).toMatch(/key-exists$/)
    await request(`DELETE /v1/api-keys/${first.body.id}`, owner.token)
    expect((await create(owner.token)).status).toBe(200)
    expect((await create(owner.token, { name: 'Two' })).status).toBe(200)
    expect((await create(owner.token, { name: 'Three' })).status).toBe(200)
    expect((await create(owner.token, { name: 'Four' })).body.type).toMatch(/key-limit$/)
  })

  it('needs a step-up, as each change of a key does', async () => {
    const { owner } = await service.newTenant('owner')
    const { body } = await create(owner.token)
    await service.sql`update app.sessions set stepped_up_at = now() - interval '1 hour' where id = ${owner.id}`
    for (const [route, sent] of [
      ['POST /v1/api-keys', { name: 'Other', permissions: ['deal.read'] }],
      [`PATCH /v1/api-keys/${body.id}`, { name: 'Other' }],
      [`POST /v1/api-keys/${body.id}/rotate`, {}],
      [`DELETE /v1/api-keys/${body.id}`, undefined],
    ] as const)
      expect((await request(route, owner.token, sent)).body.type, route).toMatch(/step-up-required$/)
    expect((await request(`GET /v1/api-keys/${body.id}`, owner.token)).body.status).toBe('live')
  })
})

describe('a key', () => {
  it('says who it is, and a session does not', async () => {
    const { owner, id: tenant } = await service.newTenant('owner')
    const { body } = await create(owner.token)
    const current = await request('GET /v1/api-keys/current', body.key)
    expect(current.body).toMatchObject({
      id: body.id,
      name: 'Nightly export',
      tenant: { id: tenant },
      permissions: ['deal.read', 'deal.write'],
      expires_at: body.expires_at,
    })
    expect((await request('GET /v1/api-keys/current', owner.token)).status).toBe(403)
    expect((await service.request('GET /v1/api-keys/current')).status).toBe(401)
  })

  it('outlives the membership of whoever made it, and the list still says who that was or null', async () => {
    const { owner, admin } = await service.newTenant('owner', 'admin')
    const { body } = await create(admin.token)
    const removed = await request(`DELETE /v1/members/${admin.membershipId}`, owner.token)
    expect(removed).toMatchObject({ status: 200, body: { api_keys: 1 } })
    expect((await request('GET /v1/deals', body.key)).status).toBe(200)
    expect((await request(`GET /v1/api-keys?created_by=${admin.userId}`, owner.token)).body.data).toHaveLength(1)
    expect((await request(`GET /v1/api-keys?created_by=${owner.userId}`, owner.token)).body.data).toEqual([])
  })

  it('is renamed, and its permissions never change', async () => {
    const { owner } = await service.newTenant('owner')
    const { body } = await create(owner.token)
    const patch = (sent: object) => request(`PATCH /v1/api-keys/${body.id}`, owner.token, sent)
    expect((await patch({ name: 'Hourly' })).body).toMatchObject({
      name: 'Hourly',
      permissions: ['deal.read', 'deal.write'],
    })
    expect((await patch({ name: 'Hourly', permissions: ['design.read'] })).body.permissions).toEqual([
      'deal.read',
      'deal.write',
    ])
    expect((await patch({ name: 'two\nlines' })).status).toBe(422)
  })

  it('is rotated: both are valid within the overlap, and without one the previous one is dead on its next request', async () => {
    const { owner } = await service.newTenant('owner')
    const { body: first } = await create(owner.token)
    const rotate = (sent: object) => request(`POST /v1/api-keys/${first.id}/rotate`, owner.token, sent)
    const status = async (key: string) => (await request('GET /v1/deals', key)).status
    const second = await rotate({})
    expect(second.body).toMatchObject({ id: first.id, hint: second.body.key.slice(-4) })
    expect(Date.parse(second.body.previous_expires_at)).toBeGreaterThan(Date.parse(inDays(0.99)))
    expect([await status(first.key), await status(second.body.key)]).toEqual([200, 200])
    const third = await rotate({ overlap_seconds: 0 })
    expect([await status(first.key), await status(second.body.key), await status(third.body.key)]).toEqual([
      401, 401, 200,
    ])
    expect((await rotate({ overlap_seconds: 604_801 })).status).toBe(422)
  })

  it('gets one new secret by twenty rotations at once that replace the same one, which stays valid', async () => {
    const { owner } = await service.newTenant('owner')
    const { body: made } = await create(owner.token)
    const rotate = (replaces: string) =>
      request(`POST /v1/api-keys/${made.id}/rotate`, owner.token, { overlap_seconds: 3600, replaces })
    const answers = await Promise.all(Array.from({ length: 20 }, () => rotate(made.created_at)))
    const done = answers.filter((answer) => answer.status === 200)
    expect(done).toHaveLength(1)
    for (const { status, body } of answers)
      if (status !== 200) expect([status, body.type]).toEqual([409, expect.stringMatching(/key-rotated$/)])
    for (const key of [made.key, done[0]?.body.key]) expect((await request('GET /v1/deals', key)).status).toBe(200)
    expect((await rotate(done[0]?.body.rotated_at)).status).toBe(200)
  })

  it('is revoked: its next request is refused, a repeat changes nothing, and it stays in the list', async () => {
    const { owner, id: tenant } = await service.newTenant('owner')
    const { body } = await create(owner.token)
    const revoke = () => request(`DELETE /v1/api-keys/${body.id}`, owner.token)
    const first = await revoke()
    expect(first.body).toMatchObject({ status: 'revoked', revoked_by: { id: owner.userId } })
    expect((await request('GET /v1/deals', body.key)).status).toBe(401)
    expect((await revoke()).body).toEqual(first.body)
    const entries =
      await service.sql`select from app.audit_log where tenant_id = ${tenant} and action = 'api_key.revoked'`
    expect(entries).toHaveLength(1)
    for (const [route, sent] of [
      ['PATCH', { name: 'Other' }],
      ['POST', {}],
    ] as const)
      expect(
        (await request(`${route} /v1/api-keys/${body.id}${route === 'POST' ? '/rotate' : ''}`, owner.token, sent)).body
          .type,
      ).toMatch(/key-ended$/)
    expect((await request('GET /v1/api-keys?status=live', owner.token)).body.data).toEqual([])
    expect((await request('GET /v1/api-keys?status=revoked', owner.token)).body.data).toHaveLength(1)
  })

  it('of another tenant is a 404 by its id', async () => {
    const { owner } = await service.newTenant('owner')
    const { owner: other } = await service.newTenant('owner')
    const { body } = await create(owner.token)
    for (const [route, sent] of [
      [`GET /v1/api-keys/${body.id}`, undefined],
      [`PATCH /v1/api-keys/${body.id}`, { name: 'Mine' }],
      [`POST /v1/api-keys/${body.id}/rotate`, {}],
      [`DELETE /v1/api-keys/${body.id}`, undefined],
    ] as const)
      expect((await request(route, other.token, sent)).status, route).toBe(404)
    expect((await request('GET /v1/deals', body.key)).status).toBe(200)
  })
})

describe('whoever has a key', () => {
  const send = (key: string) => service.request('POST /v1/api-keys/revoke', { body: { key } })

  it('ends it without any right, with one answer for every text', async () => {
    const { id: tenant } = await service.newTenant('owner')
    const { key, id } = await mintKey(service.sql, { tenant, permissions: ['deal.read'] })
    const answers = []
    for (const text of [newApiKey(), 'no key', key, key]) {
      const { status, text: body, headers } = await send(text)
      answers.push([status, body, headers.get('content-type')])
    }
    expect(new Set(answers.map(String)).size).toBe(1)
    expect(answers[0]?.[0]).toBe(204)
    expect((await request('GET /v1/deals', key)).status).toBe(401)
    const [entry] = await service.sql`
      select actor_user_id, actor_key_id, after ->> 'by' as by from app.audit_log where tenant_id = ${tenant} and target_id = ${id}`
    expect(entry).toEqual({ actor_user_id: null, actor_key_id: null, by: 'possession' })
  })

  it('waits as long for an unknown key as for a known one', async () => {
    const { id: tenant } = await service.newTenant('owner')
    const { key } = await mintKey(service.sql, { tenant })
    for (const text of [newApiKey(), key, 'no key']) {
      const begun = performance.now()
      await send(text)
      expect(performance.now() - begun, text.slice(0, 4)).toBeGreaterThan(295)
    }
  })
})
