import { countMetric } from '#shared/base/metrics.ts'
import { Problem } from '#shared/base/problem.ts'
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
  return new Problem('rate-limited', {
    detail: 'Wait before you try again.',
    reason: `limit ${limit.name}`,
    // https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/11/
    headers: {
      'retry-after': String(retryAfterSeconds),
      ratelimit: `"${limit.name}";r=0;t=${retryAfterSeconds}`,
      'ratelimit-policy': `"${limit.name}";q=${limit.limit};w=${limit.windowSeconds}`,
    },
  })
}
