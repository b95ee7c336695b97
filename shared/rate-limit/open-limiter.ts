import type { Database } from '#shared/db/connect.ts'
import { describeError, log } from '#shared/base/log.ts'
import { countMetric } from '#shared/base/metrics.ts'
import { once } from '#shared/base/once.ts'
import type { CacheAccess } from '#shared/rate-limit/cache-requester.ts'
import type { Limiter } from '#shared/rate-limit/limiter.ts'

/** Returns the limiter of a function. It loads the client of the cache at its first call, and does not connect before. */
export function openLimiter(cache: CacheAccess, database: Database): Limiter {
  const opened = once(async () => {
    const { createLimiter } = await import('#shared/rate-limit/limiter.ts')
    return createLimiter({
      ...cache,
      database,
      degraded: (error) => {
        log.error('the cache failed; counting rate limits in the database alone', { error: describeError(error) })
        countMetric('LimiterDegraded')
      },
    })
  })
  return {
    attempt: async (limits) => (await opened()).attempt(limits),
    attemptWhileReading: async (limits, read) => (await opened()).attemptWhileReading(limits, read),
    attemptInConstantSteps: async (limits) => (await opened()).attemptInConstantSteps(limits),
    settleInCache: async (limits, taken, outcome) => (await opened()).settleInCache(limits, taken, outcome),
    forgetWithParts: async (limit, parts) => (await opened()).forgetWithParts(limit, parts),
    ping: async () => (await opened()).ping(),
  }
}
