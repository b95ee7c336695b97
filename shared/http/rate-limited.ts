import { countMetric } from '#shared/base/metrics.ts'
import { limitHeaders, type Problem, tooMany } from '#shared/base/problem.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'

/** Counts the refusal of a limit, and returns its 429. */
export function rateLimited({
  limit,
  retryAfterSeconds,
}: {
  limit: Omit<Limit, 'subject'>
  retryAfterSeconds: number
}): Problem {
  countMetric('RateLimited', limit.name)
  return tooMany(limitHeaders(limit, retryAfterSeconds), `limit ${limit.name}`)
}
