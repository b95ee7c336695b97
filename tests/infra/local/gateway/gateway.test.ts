import type { APIGatewayProxyEvent } from 'aws-lambda'
import { expect, it, onTestFinished } from 'vitest'
import { gatewayResponse } from '#infra/gateway.ts'
import { serveApi } from '#infra/local/gateway/gateway.ts'
import type { ProxyResult } from '#shared/http/proxy-result.ts'

/** Sends a request through the gateway to a function that returns `result`. Returns the response and the function's event. */
async function through(result: Partial<ProxyResult>, headers: Record<string, string> = {}) {
  const events: APIGatewayProxyEvent[] = []
  const invoke = async (event: APIGatewayProxyEvent): Promise<ProxyResult> => {
    events.push(event)
    return { statusCode: 200, body: '', ...result }
  }
  const gateway = await serveApi({
    port: 0,
    api: {
      methods: [{ method: 'ANY', path: '/', timeoutMs: 1000, invoke }],
      failure: (name, requestId) => gatewayResponse(name, { requestId, problemBaseUrl: '' }),
    },
  })
  onTestFinished(() => gateway.close())
  return { response: await fetch(gateway.url, { headers }), event: events[0] }
}

it('renames the headers that API Gateway renames', async () => {
  const { response } = await through({
    headers: { 'WWW-Authenticate': 'Bearer', age: 3, etag: '"a"' },
    multiValueHeaders: { Server: ['mine'], vary: ['accept', 'origin'] },
  })
  const headers = Object.fromEntries(response.headers)
  expect(headers).toMatchObject({
    'x-amzn-remapped-www-authenticate': 'Bearer',
    'x-amzn-remapped-age': '3',
    'x-amzn-remapped-server': 'mine',
    etag: '"a"',
    vary: 'accept, origin',
  })
  for (const name of ['www-authenticate', 'age', 'server']) expect(headers).not.toHaveProperty(name)
})

it.each([
  [{ statusCode: 204 }, 'application/json'],
  [{ statusCode: 204, headers: { 'content-type': null } }, null],
  [{ headers: { 'Content-Type': 'text/html' } }, 'text/html'],
  [{ multiValueHeaders: { 'Content-Type': ['text/html'] } }, 'text/html'],
])('sends the content type that API Gateway sends for %j: %s', async (result, type) => {
  expect((await through(result)).response.headers.get('content-type')).toBe(type)
})

it('appends the address of the client to X-Forwarded-For', async () => {
  const forwarded = async (headers?: Record<string, string>) =>
    (await through({}, headers)).event?.multiValueHeaders['X-Forwarded-For']
  expect(await forwarded()).toEqual(['127.0.0.1'])
  expect(await forwarded({ 'x-forwarded-for': '10.1.1.1, 10.2.2.2' })).toEqual(['10.1.1.1, 10.2.2.2, 127.0.0.1'])
})
