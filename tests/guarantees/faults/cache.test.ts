import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { startCache } from '#infra/local/cache/cache.ts'
import { loginOf } from '#infra/local/postgres/database.ts'
import { createFaults, type Faults } from '#infra/local/faults.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'
import { createLimiter } from '#shared/rate-limit/limiter.ts'
import { keyedHash } from '#shared/secret/secret.ts'
import { connectTo } from '#tests/support/access.ts'
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts'
import { type ServerProcess, startServerProcess } from '#tests/support/server-process.ts'
import { PEPPER } from '#tests/support/service.ts'

type Cache = Awaited<ReturnType<typeof startCache>>

let database: TestDatabase
let cache: Cache
let faults: Faults
let healthyCache: Cache
/** Its cache never fails. */
let healthy: ServerProcess

beforeAll(async () => {
  database = await createTestDatabase()
  faults = createFaults()
  cache = await startCache({ force: 'in-process', faults })
  healthyCache = await startCache({ force: 'in-process' })
  healthy = await startServer(healthyCache)
})
afterEach(async () => {
  await faults.set({ part: 'cache', mode: 'ok' })
})
afterAll(async () => {
  await healthy.stop()
  faults.close()
  await cache.close()
  await healthyCache.close()
  await database.drop()
})

const startServer = (of: Cache, env: Record<string, string> = {}): Promise<ServerProcess> =>
  startServerProcess(
    {
      login: loginOf(database.appUrl),
      serviceSecret: { pepper: PEPPER, mailKey: PEPPER },
      cache: { url: of.url, token: of.token },
    },
    { LOGIN_EMAIL_LIMIT: '10', ...env },
  )

/** A server of its own before the cache that fails, which it has found well so far. */
async function failing(): Promise<ServerProcess> {
  const server = await startServer(cache)
  onTestFinished(() => server.stop())
  for (let warm = 0; warm < 5; warm += 1) expect((await server.logIn('owner@acme.test')).status).toBe(200)
  return server
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

const broken = [{ mode: 'refuse' }, { mode: 'hang' }, { mode: 'slow', ms: 1500 }] as const

/** The times of sign-ins, in turn by the server whose cache is well and by one whose cache is not. */
async function compared(server: ServerProcess) {
  for (let warm = 0; warm < 5; warm += 1) await healthy.logIn('owner@bolt.test')
  const times: { well: number[]; ill: number[] } = { well: [], ill: [] }
  for (let round = 0; round < 12; round += 1) {
    for (const which of ['well', 'ill'] as const) {
      const { status, afterMs } = await (which === 'well' ? healthy : server).logIn('owner@bolt.test')
      expect(status).toBe(200)
      times[which].push(afterMs)
    }
  }
  const usual = median(times.well)
  const [first = Infinity, ...later] = times.ill
  return { firstExtra: first - usual, laterExtra: median(later) - usual }
}

describe.for(broken)('with a cache that is in the mode %j', (fault) => {
  it('sign-in goes on, at most 250 ms later once and hardly at all after that', async () => {
    const server = await failing()
    await faults.set({ part: 'cache', ...fault })
    const { firstExtra, laterExtra } = await compared(server)
    expect(firstExtra).toBeLessThan(250)
    expect(laterExtra).toBeLessThan(25)
  })

  it('the eleventh wrong password for an address is refused before it is looked at, and no other address is', async () => {
    const server = await failing()
    await faults.set({ part: 'cache', ...fault })
    const email = `${randomUUID()}@acme.test`
    const statuses: number[] = []
    for (let attempt = 0; attempt < 11; attempt += 1) statuses.push((await server.logIn(email, 'wrong')).status)
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429])
    const refused = await server.logIn(email.toUpperCase(), 'wrong')
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(refused.body.type).toMatch(/\/rate-limited$/)
    expect((await server.logIn(`${randomUUID()}@acme.test`, 'wrong')).status).toBe(401)
  })

  it('of forty attempts at once no more than ten are let through', async () => {
    const server = await failing()
    await faults.set({ part: 'cache', ...fault })
    const email = `${randomUUID()}@acme.test`
    const answers = await Promise.all(Array.from({ length: 40 }, () => server.logIn(email, 'wrong')))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 401)).toHaveLength(10)
    expect(statuses.filter((status) => status === 429)).toHaveLength(30)
  })

  it('readiness says so within its second, and says so no more when the cache is back', async () => {
    const server = await failing()
    await faults.set({ part: 'cache', ...fault })
    const ready = await server.request('GET /health/ready')
    expect([ready.status, ready.body.cache, ready.body.database]).toEqual([503, 'failed', 'ok'])
    expect(Number(ready.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(ready.afterMs).toBeLessThan(1500)
    expect((await server.request('GET /health/live')).status).toBe(200)
    await faults.set({ part: 'cache', mode: 'ok' })
    expect((await server.request('GET /health/ready')).status).toBe(200)
  })

  it('a session needs no cache', async () => {
    const server = await failing()
    const token = await server.signIn('sales@acme.test')
    await faults.set({ part: 'cache', ...fault })
    const before = faults.counts().cache
    for (const route of ['GET /v1/auth/session', 'GET /v1/auth/tenants', 'GET /v1/catalog/styles']) {
      expect((await server.request(route, { token })).status).toBe(200)
    }
    expect(faults.counts().cache).toBe(before)
  })
})

describe('with a cache that is slow, and each call of it just fast enough', () => {
  it('a sign-in is at most 250 ms later', async () => {
    const server = await failing()
    await faults.set({ part: 'cache', mode: 'slow', ms: 150 })
    const { firstExtra, laterExtra } = await compared(server)
    expect(Math.max(firstExtra, laterExtra)).toBeLessThan(250)
  })
})

describe('the limiter', () => {
  function limiter() {
    const db = connectTo(database.appUrl, { connections: 4, prepare: true })
    onTestFinished(() => db.close())
    const failures: unknown[] = []
    const subject = (): Limit => ({
      name: 'login-email',
      subject: keyedHash(PEPPER, 'test', randomUUID()),
      limit: 3,
      windowSeconds: 900,
    })
    const { url, token } = cache
    const limits = createLimiter({ url, token, sql: db.sql, degraded: (error) => failures.push(error) })
    return { limits, failures, subject }
  }
  const attempts = async (of: ReturnType<typeof limiter>['limits'], limit: Limit, count: number) => {
    const allowed: boolean[] = []
    for (let attempt = 0; attempt < count; attempt += 1) allowed.push((await of.attempt([limit])) === null)
    return allowed
  }

  it('leaves a cache that failed alone for a while, and returns to it after that', async () => {
    const { limits, failures, subject } = limiter()
    expect(await limits.attempt([subject()])).toBeNull()
    await faults.set({ part: 'cache', mode: 'refuse' })
    expect(await limits.attempt([subject()])).toBeNull()
    await faults.set({ part: 'cache', mode: 'ok' })
    const atRest = faults.counts().cache
    expect(await attempts(limits, subject(), 4)).toEqual([true, true, true, false])
    expect(faults.counts().cache).toBe(atRest)
    expect(failures).toHaveLength(1)

    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 6000 })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    expect(await attempts(limits, subject(), 4)).toEqual([true, true, true, false])
    expect(faults.counts().cache).toBeGreaterThanOrEqual(atRest + 4)
    expect(failures).toHaveLength(1)
  })

  it('lifts a limit by not a single attempt when the cache fails', async () => {
    const { limits, subject } = limiter()
    const [reached, begun] = [subject(), subject()]
    expect(await attempts(limits, reached, 4)).toEqual([true, true, true, false])
    expect(await attempts(limits, begun, 2)).toEqual([true, true])
    await faults.set({ part: 'cache', mode: 'refuse' })
    expect(await attempts(limits, reached, 2)).toEqual([false, false])
    expect(await attempts(limits, begun, 3)).toEqual([true, false, false])
  })

  it('says of every failure why', async () => {
    const { limits, failures, subject } = limiter()
    await faults.set({ part: 'cache', mode: 'hang' })
    const asked = performance.now()
    expect(await limits.attempt([subject(), subject()])).toBeNull()
    expect(performance.now() - asked).toBeLessThan(300)
    expect(failures).toEqual([expect.any(Error)])
  })

  it('forgets in the database too, while the cache fails', async () => {
    const { limits, subject } = limiter()
    const limit = subject()
    await faults.set({ part: 'cache', mode: 'refuse' })
    expect(await attempts(limits, limit, 4)).toEqual([true, true, true, false])
    await limits.forget(limit)
    expect(await attempts(limits, limit, 4)).toEqual([true, true, true, false])
  })

  it('rejects a ping within its second when nothing answers', async () => {
    const { limits } = limiter()
    await limits.ping()
    await faults.set({ part: 'cache', mode: 'hang' })
    const asked = performance.now()
    await expect(limits.ping()).rejects.toThrow()
    expect(performance.now() - asked).toBeLessThan(1300)
  })
})
