import { requiresPrincipal } from '#shared/http/access.ts'
import { rateLimited } from '#shared/http/rate-limited.ts'
import { type Middleware, matched } from '#shared/http/request.ts'
import { countAttempt } from '#shared/rate-limit/queries.ts'

/** Counts the request against the endpoint's limits, before any expensive work. */
export const rateLimit = (): Middleware => ({
  before: async ({ context }) => {
    const { body, principal, client } = context.request
    const { endpoint, runtime } = matched(context.request)
    if (endpoint.limits === null || endpoint.opener === 'by call') return
    const { config, database, limiter, pepper } = runtime
    const limits = endpoint.limits({ body, principal, client, config, pepper })
    const refusal = await (requiresPrincipal(endpoint.access)
      ? countAttempt(database.call.repeatable, limits).then((counted) => counted.refusal)
      : limiter.attempt(limits))
    if (refusal !== null) throw rateLimited(refusal)
  },
})
