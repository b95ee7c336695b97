import { unauthorized } from '#shared/base/problem.ts'
import { requiresSession } from '#shared/http/access.ts'
import { type Middleware, matched } from '#shared/http/request.ts'
import { countMetric } from '#shared/base/metrics.ts'
import { checkSession, sentToken } from '#shared/identity/check-session.ts'
import { authenticate } from '#shared/identity/session-queries.ts'

/** Resolves the session token to the principal, in one statement. Every cause of refusal gets the same 401. */
export const bearer = (): Middleware => ({
  before: async ({ context }) => {
    const { endpoint, runtime } = matched(context.request)
    const sent = sentToken(context.request.headers.all('authorization'))
    if (typeof sent === 'string') context.request.sentToken = sent
    if (!requiresSession(endpoint.access)) return
    const checked = typeof sent === 'string' ? await checkSession(runtime, sent, authenticate) : sent
    if ('cause' in checked) {
      countMetric('Unauthorized', checked.cause)
      throw unauthorized(checked.reason, checked.tokenSent)
    }
    context.request.principal = checked
  },
})
