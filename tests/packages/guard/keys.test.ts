import { createGuard, type KeyPrincipal, type Principal, type Refusal } from '@tenantry/guard'
import { requirePermission } from '@tenantry/guard/hono'
import { testGuard, testKeyPrincipal, testPrincipal } from '@tenantry/guard/testing'
import { Hono } from 'hono'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { authorizer } from '#functions/workers/authorize/authorizer.ts'
import { worker } from '#functions/workers/authorize/worker.ts'
import { liveArn, type LocalLambda, startLambda } from '#infra/local/aws/lambda.ts'
import { newApiKey } from '#shared/secret/api-key.ts'
import { gatewayEvent } from '#tests/support/event.ts'
import { stubLambdaEnvironment } from '#tests/support/lambda-environment.ts'
import { mintKey } from '#tests/support/minted-key.ts'
import { PROBLEM_BASE_URL } from '#tests/support/problem-base-url.ts'
import { useService } from '#tests/support/test.ts'

const LIMIT = 12
const service = useService({ env: { API_KEY_LIMIT: String(LIMIT) } })
const BOTH = ['session', 'key'] as const

let local: LocalLambda
beforeAll(async () => {
  local = await startLambda()
  local.serve('authorize', {
    worker,
    invoke: authorizer({ config: service.runtime.config, open: async () => service.runtime }),
  })
})
afterAll(() => local.close())
beforeEach(() => stubLambdaEnvironment(local.url))
afterEach(() => vi.unstubAllEnvs())

const guardOf = (maxStaleSeconds = 0) =>
  createGuard({ functionName: liveArn('authorize'), problemBaseUrl: PROBLEM_BASE_URL, maxStaleSeconds })
const event = (token: string) => gatewayEvent({ route: 'GET /a', headers: { authorization: `Bearer ${token}` } })
const status = (asking: Promise<Principal | KeyPrincipal>): Promise<number> =>
  asking.then(
    () => 200,
    (refusal: Refusal) => refusal.status,
  )

it('returns the key, its tenant and its permissions where keys may call', async () => {
  const { id: tenant, slug } = await service.newTenant('owner')
  const { key, id } = await mintKey(service.sql, { tenant, permissions: ['deal.read'], name: 'Nightly export' })
  expect(await guardOf().authorize(event(key), 'deal.read', { principals: BOTH })).toEqual({
    kind: 'key',
    key: { id, name: 'Nightly export' },
    tenant: { id: tenant, slug, status: 'active', timezone: 'America/New_York', currency: 'USD' },
    permissions: ['deal.read'],
    proof: expect.stringMatching(/^[\w-]{100,}$/),
  })
})

it('refuses a key where only sessions may call, a session where only keys may, and keys without a permission to hold', async () => {
  const { id: tenant, sales } = await service.newTenant('owner', 'sales')
  const { key } = await mintKey(service.sql, { tenant, permissions: ['deal.read'] })
  const guard = guardOf()
  expect(await status(guard.authorize(event(key), 'deal.read'))).toBe(403)
  expect(await status(guard.authorize(event(key), 'deal.write', { principals: BOTH }))).toBe(403)
  expect(await status(guard.authorize(event(key), null, { principals: BOTH }))).toBe(403)
  expect(await status(guard.authorize(event(key), 'deal.read', { principals: BOTH, stepUpSeconds: 600 }))).toBe(403)
  expect(await status(guard.authorize(event(sales.token), 'deal.read', { principals: ['key'] }))).toBe(403)
  expect(await status(guard.authorize(event(sales.token), 'deal.read', { principals: BOTH }))).toBe(200)
  expect(await status(guard.authorize(event(newApiKey()), 'deal.read', { principals: BOTH }))).toBe(401)
  expect(await status(guard.authorize(event(newApiKey()), 'deal.read'))).toBe(401)
})

it('keeps no decision on a key for a route that keys may not call', async () => {
  const { id: tenant } = await service.newTenant('owner')
  const { key } = await mintKey(service.sql, { tenant, permissions: ['deal.read'] })
  const keeping = guardOf(5)
  expect(await status(keeping.authorize(event(key), 'deal.read', { principals: BOTH }))).toBe(200)
  expect(await status(keeping.authorize(event(key), 'deal.read'))).toBe(403)
  await service.sql`update app.api_keys set revoked_at = now() where tenant_id = ${tenant}`
  expect(await status(keeping.authorize(event(key), 'deal.read', { principals: BOTH }))).toBe(200)
  expect(await status(guardOf().authorize(event(key), 'deal.read', { principals: BOTH }))).toBe(401)
})

it('refuses a key over its limit as the routes of Tenantry do', async () => {
  const { id: tenant } = await service.newTenant('owner')
  const { key } = await mintKey(service.sql, { tenant, permissions: ['deal.read'] })
  const ask = () => guardOf().authorize(event(key), 'deal.read', { principals: BOTH })
  let refusal: Refusal | null = null
  // A new minute may begin between two requests.
  for (let n = 0; n <= 2 * LIMIT && refusal === null; n += 1)
    refusal = await ask().then(
      () => null,
      (error: Refusal) => error,
    )
  const own = await service.request('GET /v1/deals', { token: key })
  expect([refusal?.status, own.status]).toEqual([429, 429])
  expect(Object.keys(refusal?.headers ?? {})).toEqual(
    expect.arrayContaining(['retry-after', 'ratelimit', 'ratelimit-policy']),
  )
  expect(refusal?.headers['ratelimit-policy']).toBe(own.headers.get('ratelimit-policy'))
  const { instance: _, ...expected } = own.body
  expect(JSON.parse(refusal?.body ?? '')).toMatchObject(expected)
})

it('gives a handler a principal whose type says that it may be a key', async () => {
  const guard = testGuard({ sales: testPrincipal(), key: testKeyPrincipal() })
  const handler = guard.protect(
    { 'GET /a': { permission: 'deal.read', principals: ['session', 'key'] }, 'POST /a': 'deal.write' },
    async (_event, principal) => {
      // @ts-expect-error a key has no user
      const user: unknown = principal.user
      return { statusCode: 200, body: principal.kind === 'key' ? principal.key.name : String(user !== undefined) }
    },
  )
  const ask = (route: string, token: string) =>
    handler(gatewayEvent({ route, headers: { authorization: `Bearer ${token}` } }), {})
  expect(await ask('GET /a', 'key')).toMatchObject({ statusCode: 200, body: 'Nightly export' })
  expect(await ask('GET /a', 'sales')).toMatchObject({ statusCode: 200, body: 'true' })
  expect(await ask('POST /a', 'key')).toMatchObject({ statusCode: 403 })
  guard.protect({ 'GET /a': 'deal.read' }, async (_event, principal) => ({ statusCode: 200, body: principal.user.id }))
  const hono = new Hono()
  hono.get('/a', requirePermission(guard, 'deal.read', { principals: ['key'] }), (c) =>
    c.text(c.var.principal.key.name),
  )
  const get = (token: string) => hono.request('/a', { headers: { authorization: `Bearer ${token}` } })
  expect(await (await get('key')).text()).toBe('Nightly export')
  expect((await get('sales')).status).toBe(403)
})
