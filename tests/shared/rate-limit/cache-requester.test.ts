import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished, vi } from 'vitest'
import { Redis } from '@upstash/redis'
import { cacheRequester } from '#shared/rate-limit/cache-requester.ts'

/** A cache that responds with this status and text, and counts its connections. */
async function startServer(status: number, text: string, host = '127.0.0.1') {
  const seen = { connections: 0 }
  const headers = status === 101 ? { connection: 'upgrade', upgrade: 'other' } : {}
  const server = createServer(
    (request, response) => void request.resume().on('end', () => response.writeHead(status, headers).end(text)),
  )
  server.on('connection', () => (seen.connections += 1))
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  onTestFinished(() => {
    server.close().closeAllConnections()
  })
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}`
  return { seen, redis: new Redis(cacheRequester({ url, token: 'token' }, 1000)) }
}

it('uses a connection to the cache again, and none that an instance may have frozen with', async () => {
  const { seen, redis } = await startServer(200, '{"result":7}')
  expect([await redis.ping(), await redis.ping()]).toEqual([7, 7])
  expect(seen.connections).toBe(1)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 5000 })
  onTestFinished(() => void vi.useRealTimers())
  await redis.ping()
  expect(seen.connections).toBe(2)
})

it.for([
  [401, '{"error":"Unauthorized"}', /401.*Unauthorized/],
  [502, '<html>', /502: <html>/],
  [200, '<html>', /JSON/],
  [101, '', /in time/],
] as const)('rejects a response of the cache with %i and %s', async ([status, text, message]) => {
  const { redis } = await startServer(status, text)
  await expect(redis.ping()).rejects.toThrow(message)
  const several = redis.pipeline().ping().ping()
  await expect(several.exec()).rejects.toThrow(message)
})

it('reaches a cache by an address of IPv6', async () => {
  const { redis } = await startServer(200, '{"result":7}', '::1')
  expect(await redis.ping()).toBe(7)
})
