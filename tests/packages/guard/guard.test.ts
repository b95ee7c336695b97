import { inspect } from 'node:util'
import { LambdaClient } from '@aws-sdk/client-lambda'
import middy from '@middy/core'
import {
  createGuard,
  type GuardOptions,
  type Permission,
  type Principal,
  Refusal,
  TenantRefused,
} from '@tenantry/guard'
import type { APIGatewayProxyEvent, APIGatewayProxyEventV2, Context } from 'aws-lambda'
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  type MockInstance,
  onTestFinished,
  vi,
} from 'vitest'
import { authorizer } from '#functions/workers/authorize/authorizer.ts'
import { worker } from '#functions/workers/authorize/worker.ts'
import { group } from '#functions/api/deals/group.ts'
import { group as membersGroup } from '#functions/api/members/group.ts'
import { type AuthorizerFailure, type GatewayFailure, gatewayResponse } from '#infra/gateway.ts'
import { liveArn, type LocalLambda, startLambda } from '#infra/local/aws/lambda.ts'
import { type Api, serveApi, TimedOut } from '#infra/local/gateway/gateway.ts'
import { lambda as groupLambda } from '#shared/http/lambda.ts'
import { json, type LocalReply, type LocalRequest, startHttpServer } from '#infra/local/http-server.ts'
import { gatewayEvent } from '#tests/support/event.ts'
import { lambdaContext } from '#tests/support/lambda-context.ts'
import { stubLambdaEnvironment } from '#tests/support/lambda-environment.ts'
import { mintSession } from '#tests/support/minted-session.ts'
import { PROBLEM_BASE_URL } from '#tests/support/problem-base-url.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()
const ROUTES = { 'GET /v1/deals': 'deal.read', 'POST /v1/deals': 'deal.write', 'GET /v1/me': null } as const

let local: LocalLambda
let asked = 0
let warn: MockInstance
beforeAll(async () => {
  local = await startLambda()
  const authorize = authorizer({ config: service.runtime.config, open: async () => service.runtime })
  const invoke = (event: unknown) => {
    asked += 1
    return authorize(event)
  }
  local.serve('authorize', { worker, invoke })
  local.serve('failing', { worker, invoke: async () => Promise.reject(new Error('planted')) })
  local.serve('odd', { worker, invoke: async () => ({ outcome: 'allowed' }) })
  local.serve('hanging', { worker, invoke: () => new Promise(() => {}) })
})
afterAll(() => local.close())
beforeEach(() => {
  stubLambdaEnvironment(local.url)
  warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

const guardOf = (options: GuardOptions = {}) =>
  createGuard({ functionName: liveArn('authorize'), problemBaseUrl: PROBLEM_BASE_URL, ...options })

/** A handler of another team, which lists the route, the principal and the arguments that it gets. */
const ordersOf = (options?: GuardOptions) => {
  const handled: Principal[] = []
  const handler = guardOf(options).protect(
    ROUTES,
    async (_event: APIGatewayProxyEvent, principal, _context: Context) => {
      handled.push(principal)
      return { statusCode: 200, headers: { 'X-Tenant-Id': 'planted', 'content-type': 'text/plain' }, body: 'done' }
    },
  )
  return { handled, ask: (event: APIGatewayProxyEvent) => handler(event, lambdaContext) }
}

const never = (): Promise<{ statusCode: number; body: string }> => Promise.reject(new Error('a handler ran'))

const event = (route: string, token: string | null, headers: Record<string, string> = {}) =>
  gatewayEvent({ route, headers: { ...(token === null ? {} : { Authorization: `Bearer ${token}` }), ...headers } })

/** Returns the refusal that a request gets, or 'allowed'. */
const outcome = (asking: Promise<Principal>): Promise<Refusal | 'allowed'> =>
  asking.then(
    () => 'allowed' as const,
    (error: unknown) => {
      if (error instanceof Refusal) return error
      throw error
    },
  )

describe('a protected handler', () => {
  it('gets the principal, and its response gets the ids of tenant and request that the request cannot choose', async () => {
    const { sales, id } = await service.newTenant('sales')
    const { ask, handled } = ordersOf()
    const forged = { 'x-tenant-id': 'forged', 'X-Request-Id': 'forged-request-id' }
    const request = event('POST /v1/deals', sales.token, forged)
    request.requestContext.authorizer = { principal: JSON.stringify({ tenant: { id: 'forged' } }) }
    expect(await ask(request)).toEqual({
      statusCode: 200,
      headers: { 'content-type': 'text/plain', 'x-tenant-id': id, 'x-request-id': request.requestContext.requestId },
      body: 'done',
    })
    expect(handled).toMatchObject([{ user: { id: sales.userId }, tenant: { id }, permissions: expect.any(Array) }])
    // A forged context without a session is no principal.
    const anonymous = event('POST /v1/deals', null, forged)
    anonymous.requestContext.authorizer = { principal: JSON.stringify(handled[0]) }
    expect((await ask(anonymous)).statusCode).toBe(401)
  })

  it('sends the bytes of the service’s own routes in a refusal', async () => {
    const { production } = await service.newTenant('production')
    const pending = await mintSession(service.sql, { email: 'sales@acme.test' })
    const { runtime } = service
    const own = groupLambda(group, { config: runtime.config, open: async () => runtime })
    const repeated = event('GET /v1/deals', production.token)
    repeated.multiValueHeaders = { authorization: ['Bearer a', 'Bearer b'] }
    const { ask, handled } = ordersOf()
    const requests = [
      [401, event('GET /v1/deals', null)],
      [401, event('GET /v1/deals', null, { authorization: 'Basic dXNlcjpwYXNz' })],
      [401, event('GET /v1/deals', 'A'.repeat(43))],
      [401, event('GET /v1/deals', 'short')],
      [401, repeated],
      [403, event('GET /v1/deals', pending.token)],
      [403, event('POST /v1/deals', production.token)],
    ] as const
    for (const [status, request] of requests) {
      const expected = await own(request, lambdaContext)
      const { 'x-tenant-id': _tenantId, ...headers } = expected.headers ?? {}
      expect(expected.statusCode).toBe(status)
      expect(await ask(request)).toEqual({ ...expected, headers })
    }
    const { owner } = await service.newTenant('owner')
    await service.sql`update app.sessions set stepped_up_at = now() - interval '601 seconds' where id = ${owner.id}`
    const stale = event('POST /v1/members/invite', owner.token)
    const members = groupLambda(membersGroup, { config: runtime.config, open: async () => runtime })
    const { 'x-tenant-id': _tenant, ...headers } = (await members(stale, lambdaContext)).headers ?? {}
    const route = { 'POST /v1/members/invite': { permission: 'member.manage', stepUpSeconds: 600 } } as const
    const refused = await guardOf().protect(route, never)(stale, lambdaContext)
    expect(refused).toEqual({ ...(await members(stale, lambdaContext)), headers })
    expect(JSON.parse(refused.body)).toMatchObject({ status: 403, type: `${PROBLEM_BASE_URL}/step-up-required` })
    const down = groupLambda(group, { config: runtime.config, open: () => Promise.reject(new Error('planted')) })
    const request = event('GET /v1/deals', production.token)
    expect(await ordersOf({ functionName: 'failing:live' }).ask(request)).toEqual(await down(request, lambdaContext))
    expect(handled).toEqual([])
  })

  it('responds with 404 to a route that is not listed', async () => {
    const { owner } = await service.newTenant('owner')
    const { ask } = ordersOf()
    for (const route of ['DELETE /v1/deals', 'GET /v1/toString', 'GET /constructor'])
      expect(await ask(event(route, owner.token))).toMatchObject({ statusCode: 404 })
    expect(() => guardOf().protect({ orders: null }, async () => ({}))).toThrow('Not a route')
  })

  it('passes on an error of its handler, unless the database refused its transaction', async () => {
    const { sales } = await service.newTenant('sales')
    const handler = guardOf().protect(ROUTES, () => Promise.reject(new Error('a bug')))
    await expect(handler(event('GET /v1/me', sales.token), null)).rejects.toThrow('a bug')
    for (const status of [401, 403, 503] as const) {
      const refusing = guardOf().protect(ROUTES, () => Promise.reject(new TenantRefused(status)))
      expect(await refusing(event('GET /v1/me', sales.token), null)).toMatchObject({ statusCode: status })
    }
    expect(warn.mock.calls).toEqual([[expect.stringContaining('did not seal the proof'), 'TenantryGuard']])
  })
})

describe('a decision', () => {
  it('holds from the next request on: a revocation, another role, a suspended tenant', async () => {
    const { sales, viewer, id } = await service.newTenant('sales', 'viewer')
    const guard = guardOf()
    const ask = (token: string, permission: Permission | null) =>
      outcome(guard.authorize(event('GET /a', token), permission))
    expect(await ask(sales.token, 'deal.write')).toBe('allowed')
    await service.sql`update app.memberships set role_id = 7 where id = ${sales.membershipId}`
    expect(await ask(sales.token, 'deal.write')).toMatchObject({ status: 403 })
    await service.sql`update app.sessions set revoked_at = now() where id = ${sales.id}`
    expect(await ask(sales.token, null)).toMatchObject({ status: 401 })
    expect(await ask(viewer.token, null)).toBe('allowed')
    await service.sql`update app.tenants set status = 'suspended' where id = ${id}`
    expect(await ask(viewer.token, null)).toBeInstanceOf(Refusal)
  })

  it('is never kept when it needs a step-up, which is asked for in seconds from 1 to 3600', async () => {
    const { sales } = await service.newTenant('sales')
    const keeping = guardOf({ maxStaleSeconds: 5 })
    const ask = (options?: { stepUpSeconds: number }) =>
      outcome(keeping.authorize(event('GET /a', sales.token), 'deal.read', options))
    expect(await ask()).toBe('allowed')
    expect(await ask({ stepUpSeconds: 60 })).toBe('allowed')
    await service.sql`update app.sessions set stepped_up_at = now() - interval '61 seconds' where id = ${sales.id}`
    expect(await ask({ stepUpSeconds: 60 })).toMatchObject({ status: 403 })
    expect(await ask()).toBe('allowed')
    for (const stepUpSeconds of [0, 3601, 1.5, NaN]) {
      await expect(ask({ stepUpSeconds })).rejects.toThrow(RangeError)
      const route = { 'GET /a': { permission: null, stepUpSeconds } }
      expect(() => keeping.protect(route, never)).toThrow(RangeError)
    }
  })

  it('is not kept unless asked for, and then for a GET, an allowed request and some seconds only', async () => {
    const { sales } = await service.newTenant('sales')
    const count = async (guard: ReturnType<typeof guardOf>, route: string, permission: Permission | null = null) => {
      const before = asked
      for (let use = 0; use < 3; use += 1) await outcome(guard.authorize(event(route, sales.token), permission))
      return asked - before
    }
    const keeping = guardOf({ maxStaleSeconds: 5 })
    expect(await count(guardOf(), 'GET /a')).toBe(3)
    expect(await count(keeping, 'GET /a')).toBe(1)
    expect(await count(keeping, 'POST /a')).toBe(3)
    expect(await count(keeping, 'GET /a', 'member.manage')).toBe(3)
    const now = performance.now()
    vi.spyOn(performance, 'now').mockReturnValue(now + 5001)
    onTestFinished(() => void vi.restoreAllMocks())
    expect(await count(keeping, 'GET /a')).toBe(1)
    for (const maxStaleSeconds of [-1, 6, NaN]) expect(() => guardOf({ maxStaleSeconds })).toThrow(RangeError)
  })

  it('is made for the event of an HTTP API too, whose repeated headers are one', async () => {
    const { sales } = await service.newTenant('sales')
    const http = (authorization: string) =>
      ({
        version: '2.0',
        routeKey: 'GET /v1/me',
        headers: { authorization },
        requestContext: { requestId: 'JKJaXmPLvHcESHA=', http: { method: 'GET' } },
      }) as unknown as APIGatewayProxyEventV2
    const handler = guardOf().protect(ROUTES, async (_event: APIGatewayProxyEventV2) => ({ statusCode: 204 }))
    const { statusCode, headers } = (await handler(http(`Bearer ${sales.token}`), null)) as Record<string, any>
    expect([statusCode, headers?.['x-request-id']]).toEqual([204, expect.stringMatching(/^[0-9a-f-]{36}$/)])
    expect(await handler(http(`Bearer ${sales.token},Bearer b`), null)).toMatchObject({ statusCode: 401 })
  })
})

/** How the guard invokes `authorize` at an address. */
const WAYS = {
  itself: (url: string): GuardOptions => {
    stubLambdaEnvironment(url)
    return {}
  },
  'through a client of the SDK': (endpoint: string): GuardOptions => {
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
    const client = new LambdaClient({ endpoint, region: 'us-east-1', credentials, maxAttempts: 2 })
    onTestFinished(() => client.destroy())
    return { client }
  },
} as const

/** Starts a Lambda that gives one of these replies to each request in turn. Returns what it was sent. */
async function replying(...replies: readonly (LocalReply | 'drop')[]) {
  const requests: LocalRequest[] = []
  const server = await startHttpServer({
    answer: (request) => {
      requests.push(request)
      return replies[requests.length - 1] ?? replies.at(-1) ?? 'drop'
    },
  })
  onTestFinished(() => server.close())
  return { url: server.url, requests }
}

const THROTTLED = json(429, {}, { 'x-amzn-errortype': 'TooManyRequestsException' })
const FAILED = json(500, {}, { 'x-amzn-errortype': 'ServiceException' })
const REFUSED = { outcome: 'refused', status: 401 }

describe.each(Object.entries(WAYS))('a guard that invokes authorize %s', (_way, at) => {
  const token = 'A'.repeat(43)
  const ask = (options: GuardOptions) => outcome(guardOf(options).authorize(event('GET /a', token), null))
  const expectUnavailable = (refusal: Refusal | 'allowed') => {
    expect(refusal).toMatchObject({ status: 503, headers: { 'retry-after': '1' } })
    const { calls } = warn.mock
    expect(calls).toEqual([[expect.stringMatching(/^request [0-9a-f-]{36} gets a 503: /), 'TenantryGuard']])
    expect(inspect([refusal, calls], { depth: 9, showHidden: true })).not.toContain(token)
  }

  it('allows a request', async () => {
    const { sales } = await service.newTenant('sales')
    expect(await outcome(guardOf(at(local.url)).authorize(event('GET /a', sales.token), 'deal.read'))).toBe('allowed')
  })

  it.each([
    ['fails', 'failing:live'],
    ['hangs', 'hanging:live'],
    ['does not exist', 'missing:live'],
    ['returns no decision', 'odd:live'],
    ['cannot be reached', liveArn('authorize'), 'http://127.0.0.1:1'],
  ])('responds with 503 and never 401 while authorize %s', async (_what, functionName, url = local.url) => {
    expectUnavailable(await ask({ ...at(url), functionName, timeoutMs: functionName === 'hanging:live' ? 200 : 5000 }))
  })

  it.each([
    ['throttles it', THROTTLED, 2],
    ['fails', FAILED, 2],
    ['closes the connection', 'drop', 2],
    ['refuses it', json(403, { message: token }, { 'x-amzn-errortype': 'AccessDeniedException' }), 1],
    ['sends no JSON', { status: 200, body: token }, 1],
    ['sends it elsewhere', { status: 307, headers: { location: '/' } }, 1],
  ] as const)('responds with 503 and never 401 while Lambda %s', async (_what, reply, attempts) => {
    const { url, requests } = await replying(reply)
    expectUnavailable(await ask(at(url)))
    expect(requests).toHaveLength(attempts)
  })

  it.each([
    ['throttled it', THROTTLED],
    ['failed', FAILED],
    ['closed the connection', 'drop'],
  ] as const)('takes the second decision when Lambda %s first', async (_what, reply) => {
    const { url } = await replying(reply, json(200, REFUSED))
    expect(await ask(at(url))).toMatchObject({ status: 401 })
  })

  it('passes on the trace of the request', async () => {
    const { url, requests } = await replying(json(200, REFUSED))
    vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', 'orders')
    vi.stubEnv('_X_AMZN_TRACE_ID', 'Root=1-of-a-request')
    await ask(at(url))
    expect(requests[0]?.headers['x-amzn-trace-id']).toBe('Root=1-of-a-request')
  })
})

it('passes on the trace of each request that an instance handles at the same time', async () => {
  const { url, requests } = await replying(json(200, REFUSED))
  vi.stubEnv('_X_AMZN_TRACE_ID', 'Root=1-of-the-environment')
  vi.stubGlobal('awslambda', { InvokeStore: { getXRayTraceId: () => 'Root=1-of-the-request' } })
  await outcome(guardOf(WAYS.itself(url)).authorize(event('GET /a', 'A'.repeat(43)), null))
  expect(requests[0]?.headers['x-amzn-trace-id']).toBe('Root=1-of-the-request')
})

const AGENTS = { itself: ['itself'], 'the SDK': [expect.stringMatching(/^aws-sdk-js/)], nothing: [] }
// The SDK names itself as the user agent. It refuses FIPS and dual stack at an address that the environment names.
it.each([
  ['itself', 'with credentials in the environment', {}],
  ['itself', 'at the address of all services', { AWS_ENDPOINT_URL_LAMBDA: undefined, AWS_ENDPOINT_URL: 'url' }],
  ['the SDK', 'without them', { AWS_ACCESS_KEY_ID: undefined, AWS_CONTAINER_CREDENTIALS_FULL_URI: 'url' }],
  ['nothing', 'for FIPS', { AWS_USE_FIPS_ENDPOINT: 'true' }],
  ['nothing', 'for dual stack', { AWS_USE_DUALSTACK_ENDPOINT: 'true' }],
  ['nothing', 'for a profile that does not exist', { AWS_PROFILE: 'missing', AWS_CONFIG_FILE: '/dev/null' }],
] as const)('sends %s %s', async (way, _when, env) => {
  const container = { AccessKeyId: 'test', SecretAccessKey: 'test', Token: 'test', Expiration: '2100-01-01T00:00:00Z' }
  const { url, requests } = await replying(json(200, { ...REFUSED, ...container }))
  stubLambdaEnvironment(url)
  // The SDK warns of a profile beside credentials.
  vi.spyOn(console, 'warn').mockReturnValue()
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value === 'url' ? url : value)
  const refusal = await outcome(guardOf().authorize(event('GET /a', 'A'.repeat(43)), null))
  const agents = requests.flatMap(({ method, headers }) =>
    method === 'POST' ? [headers['user-agent'] ?? 'itself'] : [],
  )
  expect(agents).toEqual(AGENTS[way])
  expect(refusal).toMatchObject({ status: way === 'nothing' ? 503 : 401 })
})

it('guards a handler of middy', async () => {
  const { sales, id } = await service.newTenant('sales')
  const guarded = middy<APIGatewayProxyEvent, object>()
    .use(guardOf().middleware(ROUTES))
    .handler(async (_event, { principal }) => ({ statusCode: 200, body: principal.user.id }))
  // Lambda calls a handler without the principal that the middleware adds.
  const handler = guarded as unknown as (event: APIGatewayProxyEvent, context: Context) => Promise<object>
  expect(await handler(event('GET /v1/deals', sales.token), { ...lambdaContext })).toMatchObject({
    statusCode: 200,
    headers: { 'x-tenant-id': id, 'x-request-id': expect.any(String) },
    body: sales.userId,
  })
  const refused = await handler(event('GET /v1/deals', 'A'.repeat(43)), { ...lambdaContext })
  expect(refused).toMatchObject({ statusCode: 401, headers: { 'content-type': 'application/problem+json' } })
})

describe('an API behind the REQUEST authorizer', () => {
  /** Sends a request through an API whose function returns what the authorizer passed on. */
  async function behind(functionName: string, authorization: string | null, resultsCacheTtlSeconds = 0) {
    const invoke: Api['methods'][number]['invoke'] = async ({ requestContext }) => ({
      statusCode: 200,
      body: requestContext.authorizer?.['principal'],
    })
    const failure = (name: GatewayFailure | AuthorizerFailure, requestId: string) =>
      gatewayResponse(name, { requestId, problemBaseUrl: PROBLEM_BASE_URL })
    const gateway = await serveApi({
      port: 0,
      api: {
        methods: [{ method: 'GET', path: '/orders', timeoutMs: 1000, invoke }],
        authorizer: { timeoutMs: 300, resultsCacheTtlSeconds, invoke: FUNCTIONS[functionName] ?? unknown, failure },
        failure,
      },
    })
    onTestFinished(() => gateway.close())
    const ask = () => fetch(`${gateway.url}/orders`, { headers: authorization === null ? {} : { authorization } })
    return { response: await ask(), again: ask }
  }
  const authorize = (input: unknown) =>
    authorizer({ config: service.runtime.config, open: async () => service.runtime })(input)
  const unknown = () => Promise.reject(new Error('no such function'))
  const FUNCTIONS: Readonly<Record<string, (input: unknown, timeoutMs: number) => Promise<unknown>>> = {
    authorize,
    hanging: async (_input, timeoutMs) => {
      await new Promise((resolve) => setTimeout(resolve, timeoutMs))
      throw new TimedOut()
    },
    odd: async () => ({ principalId: 'no policy' }),
  }

  it('passes the principal on, and refuses with problem details', async () => {
    const { sales, id } = await service.newTenant('sales')
    const pending = await mintSession(service.sql, { email: 'sales@acme.test' })
    const { response } = await behind('authorize', `Bearer ${sales.token}`)
    expect(await response.json()).toMatchObject({ tenant: { id }, user: { id: sales.userId } })
    for (const [name, authorization, status, header] of [
      ['authorize', null, 401, ['www-authenticate', 'Bearer realm="api"']],
      ['authorize', `Bearer ${'A'.repeat(43)}`, 401, ['www-authenticate', 'Bearer realm="api"']],
      ['authorize', `Bearer ${pending.token}`, 403, ['retry-after', null]],
      ['missing', `Bearer ${sales.token}`, 503, ['retry-after', '1']],
      ['hanging', `Bearer ${sales.token}`, 503, ['retry-after', '1']],
      ['odd', `Bearer ${sales.token}`, 503, ['retry-after', '1']],
    ] as const) {
      const { response: refused } = await behind(name, authorization)
      expect([name, refused.status, refused.headers.get(header[0])]).toEqual([name, status, header[1]])
      expect(refused.headers.get('content-type')).toBe('application/problem+json')
      expect(await refused.json()).toMatchObject({ status })
    }
  })

  it('allows a revoked session while the API keeps results, which TenantryAuthorizer never does', async () => {
    const { sales, viewer } = await service.newTenant('sales', 'viewer')
    const [keeping, asking] = [
      await behind('authorize', `Bearer ${sales.token}`, 60),
      await behind('authorize', `Bearer ${viewer.token}`),
    ]
    for (const { id } of [sales, viewer]) await service.sql`update app.sessions set revoked_at = now() where id = ${id}`
    expect([(await keeping.again()).status, (await asking.again()).status]).toEqual([200, 401])
  })
})
