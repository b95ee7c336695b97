import { unauthorizedService } from '#shared/base/problem.ts'
import { type Middleware, matched } from '#shared/http/request.ts'
import { countMetric } from '#shared/base/metrics.ts'
import { sentServiceKey } from '#shared/identity/service-key.ts'

/** Reads the key of a service. The endpoint's statement checks it, so that one round trip does both. */
export const serviceKey = (): Middleware => ({
  before: ({ context }) => {
    if (matched(context.request).endpoint.access !== 'service') return
    const credentials = context.request.headers.all('authorization')
    context.request.serviceKey = sentServiceKey(credentials)
    if (context.request.serviceKey !== null) return
    countMetric('Unauthorized', credentials.length === 0 ? 'absent' : 'malformed')
    throw unauthorizedService('no well-formed service key')
  },
})
