import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startCache } from '#infra/local/cache/cache.ts'
import { createFaults } from '#infra/local/faults.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'
import { createLimiter } from '#shared/rate-limit/limiter.ts'
import { keyedHash } from '#shared/secret/secret.ts'
import { connectTo } from '#tests/support/access.ts'
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts'
import { PEPPER } from '#tests/support/service.ts'

const faults = createFaults()
let database: TestDatabase
let cache: Awaited<ReturnType<typeof startCache>>
beforeAll(async () => {
  database = await createTestDatabase()
  cache = await startCache({ force: 'in-process', faults })
})
afterAll(async () => {
  faults.close()
  await cache.close()
  await database.drop()
})

const newLimit = (): Limit => ({
  name: 'login-email',
  subject: keyedHash(PEPPER, 'test', randomUUID()),
  limit: 3,
  windowSeconds: 900,
  counts: 'failures',
})

/** Milliseconds that some work takes with a limiter whose cache begins to fail just before. */
async function timed(
  fault: { readonly mode: string; readonly ms?: number },
  work: (limits: ReturnType<typeof createLimiter>) => Promise<unknown>,
): Promise<number> {
  const db = connectTo(database.appUrl)
  onTestFinished(() => db.close())
  const limits = createLimiter({ url: cache.url, token: cache.token, database: db, degraded: () => {} })
  await limits.attempt([newLimit()])
  await faults.set({ part: 'cache', ...fault })
  onTestFinished(async () => {
    await faults.set({ part: 'cache', mode: 'ok' })
  })
  const asked = performance.now()
  await work(limits)
  return performance.now() - asked
}

describe('the limiter before a cache that fails', () => {
  it.for([{ mode: 'refuse' }, { mode: 'hang' }, { mode: 'slow', ms: 1500 }, { mode: 'slow', ms: 150 }])(
    'delays a login by at most 250 ms with a cache in mode %j',
    async (fault) => {
      const [limit, other] = [newLimit(), newLimit()]
      const ms = await timed(fault, async (limits) => {
        const counted = await limits.attemptWhileReading([limit, other], async () => null)
        expect(counted).toHaveProperty('taken')
        if ('taken' in counted) await limits.settleInCache([limit, other], counted.taken, 'succeeded')
      })
      expect(ms).toBeLessThan(250)
    },
  )

  it('rejects a ping within a second when the cache does not respond', async () => {
    expect(await timed({ mode: 'hang' }, (limits) => expect(limits.ping()).rejects.toThrow())).toBeLessThan(1300)
  })
})
