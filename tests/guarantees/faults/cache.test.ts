import { randomUUID } from 'node:crypto'
import { Ratelimit } from '@upstash/ratelimit'
import { Redis } from '@upstash/redis'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { startCache } from '#infra/local/cache/cache.ts'
import { createFaults, type Faults } from '#infra/local/faults.ts'
import type { AttemptOutcome, Limit } from '#shared/rate-limit/limit.ts'
import { createLimiter } from '#shared/rate-limit/limiter.ts'
import { keyedHash } from '#shared/secret/secret.ts'
import { connectTo, loginsOf } from '#tests/support/access.ts'
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts'
import { type ServerProcess, startServerProcess } from '#tests/support/server-process.ts'
import { variants } from '#tests/support/rounds.ts'
import { PEPPER } from '#tests/support/service.ts'

let database: TestDatabase
let cache: Awaited<ReturnType<typeof startCache>>
let faults: Faults

beforeAll(async () => {
  database = await createTestDatabase()
  faults = createFaults()
  cache = await startCache({ force: 'in-process', faults })
})
afterEach(async () => {
  await faults.set({ part: 'cache', mode: 'ok' })
})
afterAll(async () => {
  faults.close()
  await cache.close()
  await database.drop()
})

/** A server in a process of its own, which has found the cache healthy so far. */
async function startServer(): Promise<ServerProcess> {
  const server = await startServerProcess(
    {
      logins: loginsOf(database.urls),
      tokenSecrets: { pepper: PEPPER, mailKey: PEPPER },
      cache: { url: cache.url, token: cache.token },
    },
    { LOGIN_EMAIL_LIMIT: '10' },
  )
  onTestFinished(() => server.stop())
  expect((await server.logIn('owner@acme.test')).status).toBe(200)
  return server
}

const broken = [{ mode: 'refuse' }, { mode: 'hang' }, { mode: 'slow', ms: 1500 }] as const

describe.for(variants(broken))('a cache in mode %j', (fault) => {
  it('keeps logins working and stops calling a cache that fails', async () => {
    const server = await startServer()
    await faults.set({ part: 'cache', ...fault })
    const before = faults.counts().cache
    for (let round = 0; round < 12; round += 1) expect((await server.logIn('owner@bolt.test')).status).toBe(200)
    // A cache that failed gets no calls for some seconds. Each login would make two calls.
    expect(faults.counts().cache - before).toBeLessThan(12)
  })

  it('rejects the eleventh wrong password for an email, and no other email, without the cache', async () => {
    const server = await startServer()
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

  it('checks exactly ten of forty concurrent login attempts without the cache', async () => {
    const server = await startServer()
    await faults.set({ part: 'cache', ...fault })
    const email = `${randomUUID()}@acme.test`
    const answers = await Promise.all(Array.from({ length: 40 }, () => server.logIn(email, 'wrong')))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 401)).toHaveLength(10)
    expect(statuses.filter((status) => status === 429)).toHaveLength(30)
  })

  it('reports the failed cache in readiness, and its recovery', async () => {
    const server = await startServer()
    await faults.set({ part: 'cache', ...fault })
    const ready = await server.request('GET /health/ready')
    expect([ready.status, ready.body.cache, ready.body.database]).toEqual([503, 'failed', 'ok'])
    expect(Number(ready.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await server.request('GET /health/live')).status).toBe(200)
    await faults.set({ part: 'cache', mode: 'ok' })
    expect((await server.request('GET /health/ready')).status).toBe(200)
  })

  it('serves sessions without calling the cache', async () => {
    const server = await startServer()
    const token = await server.signIn('sales@acme.test')
    await faults.set({ part: 'cache', ...fault })
    const before = faults.counts().cache
    for (const route of ['GET /v1/auth/session', 'GET /v1/auth/tenants', 'GET /v1/catalog/styles']) {
      expect((await server.request(route, { token })).status).toBe(200)
    }
    expect(faults.counts().cache).toBe(before)
  })
})

describe('the limiter', () => {
  // Long, so that the next window does not begin in the midst of a test.
  const WINDOW_SECONDS = 86_400
  const WINDOW_MS = WINDOW_SECONDS * 1000

  function limiter() {
    const db = connectTo(database.appUrl, { connections: 4, prepare: true })
    onTestFinished(() => db.close())
    const failures: unknown[] = []
    const subject = (): Limit => ({
      name: 'login-email',
      subject: keyedHash(PEPPER, 'test', randomUUID()),
      limit: 3,
      windowSeconds: WINDOW_SECONDS,
    })
    const { url, token } = cache
    const limits = createLimiter({ url, token, database: db, degraded: (error) => failures.push(error) })
    return { limits, failures, subject }
  }
  const attempts = async (of: ReturnType<typeof limiter>['limits'], limit: Limit, count: number) => {
    const allowed: boolean[] = []
    for (let attempt = 0; attempt < count; attempt += 1) allowed.push((await of.attempt([limit])) === null)
    return allowed
  }

  it('stops calling a failed cache for a while and then returns to it', async () => {
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
    // On a busy machine the cache may miss its time again.
    expect(faults.counts().cache).toBeGreaterThan(atRest)
  })

  it('keeps the attempts already counted when the cache fails', async () => {
    const { limits, subject } = limiter()
    const [reached, begun] = [subject(), subject()]
    expect(await attempts(limits, reached, 4)).toEqual([true, true, true, false])
    expect(await attempts(limits, begun, 2)).toEqual([true, true])
    await faults.set({ part: 'cache', mode: 'refuse' })
    expect(await attempts(limits, reached, 2)).toEqual([false, false])
    expect(await attempts(limits, begun, 3)).toEqual([true, false, false])
  })

  it('looks at all limits in one call of the cache, by the rules of @upstash/ratelimit, and counts none if one refuses', async () => {
    const { limits, subject } = limiter()
    const [first, second, full] = [{ ...subject(), limit: 2 }, subject(), { ...subject(), limit: 5 }]
    const redis = new Redis({ url: cache.url, token: cache.token, enableTelemetry: false })
    const library = ({ limit }: Limit) =>
      new Ratelimit({
        redis,
        limiter: Ratelimit.slidingWindow(limit, `${WINDOW_SECONDS} s`),
        prefix: 'limit:login-email',
      })
    const idOf = ({ subject }: Limit) => subject.toString('base64url')
    await limits.attempt([subject()])
    const before = faults.counts().cache
    expect(await limits.attempt([first, second])).toBeNull()
    expect(faults.counts().cache - before).toBe(1)
    expect((await library(first).limit(idOf(first))).success).toBe(true)
    expect(await limits.attempt([first, second])).toMatchObject({ limit: first })
    expect((await library(first).limit(idOf(first))).success).toBe(false)
    expect((await library(second).getRemaining(idOf(second))).remaining).toBe(2)
    // A narrow limit behind a wide one.
    expect(await limits.attempt([second, first])).toMatchObject({ limit: first })
    expect((await library(second).getRemaining(idOf(second))).remaining).toBe(2)

    // Half of the previous window's five attempts still count.
    const window = Math.floor(Date.now() / WINDOW_MS)
    vi.useFakeTimers({ toFake: ['Date'], now: (window + 0.5) * WINDOW_MS })
    onTestFinished(() => void vi.useRealTimers())
    await redis.set(`limit:login-email:${idOf(full)}:${window - 1}`, 5)
    expect((await library(full).getRemaining(idOf(full))).remaining).toBe(3)
    expect(await attempts(limits, full, 4)).toEqual([true, true, true, false])
  })

  it('settles in one call of the cache: a success gives back and forgets, a failure counts, a refusal gives back', async () => {
    const { limits, subject } = limiter()
    const [wide, narrow] = [
      { ...subject(), limit: 99, counts: 'until success' as const },
      { ...subject(), limit: 2, counts: 'failures' as const },
    ]
    const redis = new Redis({ url: cache.url, token: cache.token, enableTelemetry: false })
    const counted = ({ subject }: Limit) =>
      redis.get(`limit:login-email:${subject.toString('base64url')}:${Math.floor(Date.now() / WINDOW_MS)}`)
    const settle = async (outcome: AttemptOutcome) => {
      const counts = await limits.attemptWhileReading([wide, narrow], async () => null)
      if ('limit' in counts) return 'refused'
      const before = faults.counts().cache
      await limits.settleInCache([wide, narrow], counts.taken, outcome)
      expect(faults.counts().cache - before).toBe(1)
      return [await counted(wide), await counted(narrow)]
    }
    // The first call of a script loads it.
    await settle('refused').catch(() => null)
    for (const [outcome, expected] of [
      ['refused', [0, null]],
      ['failed', [1, 1]],
      ['succeeded', [1, null]],
      ['failed', [2, 1]],
      ['failed', [3, 2]],
      ['failed', 'refused'],
    ] as const)
      expect(await settle(outcome), outcome).toEqual(expected)
    expect(await counted(wide)).toBe(3)
  })

  it('reports the cause of each cache failure', async () => {
    const { limits, failures, subject } = limiter()
    await faults.set({ part: 'cache', mode: 'hang' })
    expect(await limits.attempt([subject(), subject()])).toBeNull()
    expect(failures).toEqual([expect.any(Error)])
  })

  it('resets a limit in the database while the cache fails', async () => {
    const { limits, subject } = limiter()
    const limit = subject()
    await faults.set({ part: 'cache', mode: 'refuse' })
    expect(await attempts(limits, limit, 4)).toEqual([true, true, true, false])
    await limits.forgetWithParts(limit, limit)
    expect(await attempts(limits, limit, 4)).toEqual([true, true, true, false])
  })

  it('rejects a ping when the cache does not respond', async () => {
    const { limits } = limiter()
    await limits.ping()
    await faults.set({ part: 'cache', mode: 'hang' })
    await expect(limits.ping()).rejects.toThrow()
  })
})
