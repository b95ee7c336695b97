import type { GatewayEvent } from '@tenantry/guard'
import { testGuard, testPrincipal } from '@tenantry/guard/testing'
import { describe, expect, it } from 'vitest'

const sales = testPrincipal({ permissions: ['deal.read'] })
const guard = testGuard({ sales })
const ROUTES = {
  'GET /orders': 'deal.read',
  'GET /orders/{id}': 'deal.read',
  'GET /orders/summary': 'deal.write',
  'ANY /files/{path+}': null,
  'GET /health': 'public',
  'OPTIONS /orders': 'public',
} as const

const headers = { authorization: 'Bearer sales' }
/** An event for a request that the gateway routes by no route of its own, in each of its forms. */
const EVENTS = {
  'an HTTP API': (method: string, rawPath: string): GatewayEvent => ({
    routeKey: '$default',
    rawPath: `/prod${rawPath}`,
    headers,
    requestContext: { requestId: 'JKJaXmPLvHcESHA=', stage: 'prod', http: { method } },
  }),
  'an HTTP API with format 1.0': (httpMethod: string, path: string): GatewayEvent => ({
    httpMethod,
    resource: '$default',
    path: `/prod${path}`,
    headers,
    multiValueHeaders: { authorization: [headers.authorization] },
    requestContext: { requestId: 'JKJaXmPLvHcESHA=', stage: 'prod' },
  }),
  'a function URL': (method: string, rawPath: string): GatewayEvent => ({
    routeKey: '$default',
    rawPath,
    headers,
    requestContext: { requestId: 'e1506fd5-9e7b-434f-bd42-4f8fa224b599', stage: '$default', http: { method } },
  }),
  'a load balancer': (httpMethod: string, path: string): GatewayEvent => ({
    httpMethod,
    path,
    headers,
    requestContext: { elb: { targetGroupArn: 'arn' } },
  }),
}

const handler = guard.protect(ROUTES, async (_event: GatewayEvent, principal) => ({
  statusCode: 200,
  body: principal === null ? 'nobody' : principal.user.email,
}))
const ask = async (event: GatewayEvent) => {
  const { statusCode, body } = await handler(event, null)
  return statusCode === 200 ? body : statusCode
}

describe.each(Object.entries(EVENTS))('the event of %s', (_name, eventOf) => {
  it.each([
    ['GET', '/orders', sales.user.email],
    ['GET', '/orders/7', sales.user.email],
    // A fixed segment is taken before a parameter, although the parameter would allow it.
    ['GET', '/orders/summary', 403],
    ['GET', '/orders/', 404],
    ['GET', '/orders/7/lines', 404],
    ['GET', '//orders', 404],
    ['GET', '/%6frders', 404],
    ['POST', '/orders', 404],
    ['DELETE', '/files/a/b', sales.user.email],
    ['GET', '/files/', sales.user.email],
    ['GET', '/files', 404],
    ['GET', '/health', 'nobody'],
    ['OPTIONS', '/orders', 'nobody'],
    ['GET', '/constructor', 404],
  ])('is matched by its method and path: %s %s is %s', async (method, path, expected) => {
    expect(await ask(eventOf(method, path))).toBe(expected)
  })

  it('has a UUID as the id of its request', async () => {
    const response = (await handler(eventOf('GET', '/health'), null)) as { headers?: Record<string, string> }
    expect(response.headers).toEqual({ 'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/) })
  })
})

it('takes the route that API Gateway chose, whatever the path says', async () => {
  const event = { ...EVENTS['a function URL']('GET', '/orders'), routeKey: 'GET /orders/summary' }
  expect(await ask(event)).toBe(403)
  expect(await ask({ ...event, routeKey: 'GET /unlisted' })).toBe(404)
})

it('responds to a load balancer with lists of headers when its request has such lists', async () => {
  const event = (authorization: string[]): GatewayEvent => ({
    httpMethod: 'GET',
    path: '/orders',
    multiValueHeaders: { Authorization: authorization },
    requestContext: { elb: { targetGroupArn: 'arn' } },
  })
  expect(await handler(event([headers.authorization]), null)).toMatchObject({
    multiValueHeaders: { 'x-tenant-id': [sales.tenant.id], 'x-request-id': [expect.any(String)] },
  })
  expect(await handler(event([headers.authorization, 'Bearer b']), null)).toMatchObject({
    statusCode: 401,
    multiValueHeaders: { 'content-type': ['application/problem+json'] },
  })
})

it('asks about no public route, also with a credential', async () => {
  const asking = testGuard({ down: 'down' }).protect({ 'GET /health': 'public' }, async () => ({ statusCode: 204 }))
  const event = EVENTS['a function URL']('GET', '/health')
  expect(await asking({ ...event, headers: { authorization: 'Bearer down' } }, null)).toMatchObject({ statusCode: 204 })
})
