import { Problem } from '#shared/problem.ts'
import { type Middleware, matched } from '#shared/http/request.ts'
import { countMetric } from '#shared/metrics.ts'

/** Counts the request against the endpoint's limits, before any expensive work. */
export const rateLimit = (): Middleware => ({
  before: async ({ context }) => {
    const { body, principal, client } = context.request
    const { endpoint, runtime } = matched(context.request)
    if (endpoint.limits === null) return
    const { config, pepper, limiter } = runtime
    const limits = endpoint.limits({ body, principal, client, config, pepper })
    const refusal = await limiter.attempt(limits)
    if (refusal === null) return
    const { limit, retryAfterSeconds } = refusal
    countMetric('RateLimited', limit.name)
    throw new Problem('rate-limited', {
      detail: 'Wait before you try again.',
      reason: `limit ${limit.name}`,
      // https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/11/
      headers: {
        'retry-after': String(retryAfterSeconds),
        ratelimit: `"${limit.name}";r=0;t=${retryAfterSeconds}`,
        'ratelimit-policy': `"${limit.name}";q=${limit.limit};w=${limit.windowSeconds}`,
      },
    })
  },
})
