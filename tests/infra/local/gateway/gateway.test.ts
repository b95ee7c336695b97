import type { APIGatewayProxyEvent } from 'aws-lambda'
import { request } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { expect, it, onTestFinished } from 'vitest'
import { COMPRESSION_FROM_BYTES, gatewayResponse } from '#infra/gateway.ts'
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

/** Sends a request with exactly these headers. Returns the status, the headers and the bytes of the response. */
async function exactly(url: string, headers: Record<string, string>) {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; encoding: string; bytes: Buffer }>()
  request(url, { headers }, (response) => {
    const parts: Buffer[] = []
    response.on('data', (part: Buffer) => parts.push(part))
    response.on('end', () => {
      const { statusCode: status = 0, headers: got } = response
      const bytes = Buffer.concat(parts)
      expect(got['content-length']).toBe(String(bytes.length))
      resolve({ status, encoding: got['content-encoding'] ?? '', bytes })
    })
  })
    .on('error', reject)
    .end()
  return promise
}

async function serving(body: string, options: { compresses?: boolean; onlyLoopbackHosts?: boolean }) {
  const gateway = await serveApi({
    port: 0,
    ...(options.onlyLoopbackHosts === undefined ? {} : { onlyLoopbackHosts: options.onlyLoopbackHosts }),
    api: {
      methods: [{ method: 'ANY', path: '/', timeoutMs: 1000, invoke: async () => ({ statusCode: 200, body }) }],
      failure: (name, requestId) => gatewayResponse(name, { requestId, problemBaseUrl: '' }),
      ...(options.compresses === true ? { compressionFromBytes: COMPRESSION_FROM_BYTES } : {}),
    },
  })
  onTestFinished(() => gateway.close())
  return gateway.url
}

const LONG = 'a text that repeats itself, '.repeat(100)

it.each([
  ['gzip', true],
  ['gzip, deflate, br', true],
  ['br;q=1, GZIP;q=0.5', true],
  ['*', true],
  ['', false],
  ['br', false],
  ['gzip;q=0', false],
  ['gzip;q=0.00, br', false],
  ['notgzip', false],
])('compresses a response from 1 KiB for a client that accepts %j: %s', async (accepted, expected) => {
  const url = await serving(LONG, { compresses: true })
  const { encoding, bytes } = await exactly(url, accepted === '' ? {} : { 'accept-encoding': accepted })
  expect(encoding).toBe(expected ? 'gzip' : '')
  expect((expected ? gunzipSync(bytes) : bytes).toString()).toBe(LONG)
})

it('compresses no small response, and none of an API without compression', async () => {
  const accepting = { 'accept-encoding': 'gzip' }
  const small = 'x'.repeat(COMPRESSION_FROM_BYTES - 1)
  expect((await exactly(await serving(small, { compresses: true }), accepting)).encoding).toBe('')
  expect((await exactly(await serving(LONG, {}), accepting)).encoding).toBe('')
})

it.each([
  ['127.0.0.1', 200],
  ['localhost:3000', 200],
  ['LOCALHOST', 200],
  ['[::1]:3000', 200],
  ['evil.example', 421],
  ['127.0.0.1.evil.example', 421],
  ['localhost.evil.example:3000', 421],
  ['10.0.0.1', 421],
])('on this machine answers the host %s with %i', async (host, status) => {
  const url = await serving('', { onlyLoopbackHosts: true })
  expect((await exactly(url, { host })).status).toBe(status)
})
