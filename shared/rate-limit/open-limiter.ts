import type { Database } from '#shared/db/connect.ts'
import { describeError, log } from '#shared/log.ts'
import { countMetric } from '#shared/metrics.ts'
import { type CacheAccess, createLimiter, type Limiter } from '#shared/rate-limit/limiter.ts'

/** Returns the limiter of a function. Does not connect yet. */
export const openLimiter = (cache: CacheAccess, { sql }: Database): Limiter =>
  createLimiter({
    ...cache,
    sql,
    degraded: (error) => {
      log.error('the cache failed; counting rate limits in the database alone', { error: describeError(error) })
      countMetric('LimiterDegraded')
    },
  })
