import { holds, TenantRefused } from '@tenantry/guard'
import { protectFetch } from '@tenantry/guard/fetch'
import { requirePermission } from '@tenantry/guard/hono'
import { type TestCaller, testGuard, testPrincipal } from '@tenantry/guard/testing'
import { TenantRefused as ofPg } from '@tenantry/guard/pg'
import { TenantRefused as ofPostgres } from '@tenantry/guard/postgres'
import { Hono } from 'hono'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

const sales = testPrincipal()
const owner = testPrincipal({ permissions: ['*', 'deal.read'] })
const viewer = testPrincipal({ permissions: ['deal.read'] })
const late = testPrincipal({ stepped_up_at: new Date(Date.now() - 601_000).toISOString() })
const CALLERS: Record<string, TestCaller> = { sales, late, owner, viewer, pending: 'pending', down: 'down' }
const guard = testGuard(CALLERS, { problemBaseUrl: 'https://errors.test' })

beforeEach(() => void vi.spyOn(process, 'emitWarning').mockReturnValue())
afterEach(() => void vi.restoreAllMocks())

const refusing = (status: TenantRefused['status']) => {
  throw new TenantRefused(status)
}

const hono = new Hono()
hono.onError((_error, c) => c.text('failed', 500))
hono.get('/health', (c) => c.text('nobody'))
hono.post('/refunds', requirePermission(guard, 'deal.write', { stepUpSeconds: 600 }), (c) => c.text('refunded'))
hono.use('/orders/*', requirePermission(guard, 'deal.write'))
hono.get('/orders/:id', requirePermission(guard, 'deal.write'), (c) => {
  const status = c.req.param('id')
  return status === '7' ? c.text(c.var.principal.user.email) : refusing(Number(status) as TenantRefused['status'])
})

const plain = protectFetch(
  guard,
  {
    'GET /orders/{id}': 'deal.write',
    'POST /refunds': { permission: 'deal.write', stepUpSeconds: 600 },
    'GET /health': 'public',
  },
  (request, principal) => {
    if (request.method === 'POST') return new Response('refunded')
    const status = new URL(request.url).pathname.split('/').at(-1)
    if (principal === null) return new Response('nobody')
    return status === '7' ? new Response(principal.user.email) : refusing(Number(status) as TenantRefused['status'])
  },
)

const SERVERS: Record<string, (request: Request) => Response | Promise<Response>> = {
  'Request and Response': plain,
  Hono: (request) => hono.fetch(request),
}

describe.each(Object.entries(SERVERS))('a server of %s', (_name, serve) => {
  const ask = (path: string, token?: string) =>
    serve(
      new Request(
        `http://localhost${path}`,
        token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
      ),
    )

  it('gets the principal, and its response gets the ids of tenant and request', async () => {
    const response = await ask('/orders/7', 'sales')
    expect([response.status, await response.text()]).toEqual([200, sales.user.email])
    expect(response.headers.get('x-tenant-id')).toBe(sales.tenant.id)
    expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expect((await ask('/orders/7', 'owner')).status).toBe(200)
  })

  it.each([
    ['without a token', undefined, 401, 'about:blank'],
    ['with an unknown token', 'unknown', 401, 'about:blank'],
    ['without a tenant', 'pending', 403, 'https://errors.test/tenant-not-selected'],
    ['without the permission', 'viewer', 403, 'about:blank'],
    ['while Tenantry is down', 'down', 503, 'https://errors.test/dependency-unavailable'],
  ])('refuses a request %s', async (_what, token, status, type) => {
    const response = await ask('/orders/7', token)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect([response.status, await response.json()]).toEqual([status, expect.objectContaining({ status, type })])
  })

  it.each([401, 403, 503])(
    'responds with %i when the database refuses the transaction of the handler so',
    async (status) => {
      const response = await ask(`/orders/${status}`, 'sales')
      expect([response.status, response.headers.get('content-type')]).toEqual([status, 'application/problem+json'])
    },
  )

  it('refuses a route that needs a step-up after one that is too old, and no other route', async () => {
    const refund = async (token: string) => {
      const headers = { authorization: `Bearer ${token}` }
      return (await serve(new Request('http://localhost/refunds', { method: 'POST', headers }))).text()
    }
    expect(await refund('sales')).toBe('refunded')
    expect(JSON.parse(await refund('late'))).toMatchObject({
      status: 403,
      type: 'https://errors.test/step-up-required',
    })
    expect(JSON.parse(await refund('viewer'))).toMatchObject({ status: 403, type: 'about:blank' })
    expect((await ask('/orders/7', 'late')).status).toBe(200)
  })

  it('serves a public route to anybody', async () => {
    expect(await (await ask('/health')).text()).toBe('nobody')
  })
})

it('passes on an error of a handler', async () => {
  const failing = protectFetch(guard, { 'GET /a': null }, () => {
    throw new Error('a bug')
  })
  await expect(
    failing(new Request('http://localhost/a', { headers: { authorization: 'Bearer sales' } })),
  ).rejects.toThrow('a bug')
})

it('responds with the problem of a step-up when the database asks for one', () => {
  const refused = guard.refusalOf(new TenantRefused('step-up-required'))
  expect(JSON.parse(refused?.body ?? '')).toMatchObject({ status: 403, type: 'https://errors.test/step-up-required' })
})

it('decides for the request of any server', async () => {
  const ask = (authorization: string | string[] | null) => guard.authorizeRequest({ authorization }, 'deal.read')
  expect(await ask('Bearer sales')).toBe(sales)
  for (const authorization of [null, 'Basic sales', ['Bearer sales', 'Bearer owner']])
    await expect(ask(authorization)).rejects.toMatchObject({ status: 401 })
})

it('says that an owner holds every permission, and others theirs', () => {
  expect([owner, sales, viewer].map((each) => holds(each, 'deal.write'))).toEqual([true, true, false])
})

it('exports one class of refusals from each entry', () => {
  expect([ofPg, ofPostgres]).toEqual([TenantRefused, TenantRefused])
})
