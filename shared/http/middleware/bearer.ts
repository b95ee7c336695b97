import { forbidden, unauthorized } from '#shared/base/problem.ts'
import { isOpenToKeys, requiresPrincipal } from '#shared/http/access.ts'
import type { Endpoint } from '#shared/http/endpoint.ts'
import { rateLimited } from '#shared/http/rate-limited.ts'
import { type Middleware, matched } from '#shared/http/request.ts'
import { countMetric } from '#shared/base/metrics.ts'
import { authenticateKey, isLimited } from '#shared/identity/api-key-queries.ts'
import { checkKey } from '#shared/identity/check-key.ts'
import {
  checkSession,
  type SentCredential,
  sentCredential,
  type Unauthenticated,
} from '#shared/identity/check-session.ts'
import type { Principal } from '#shared/identity/session.ts'
import { authenticate } from '#shared/identity/session-queries.ts'
import type { Runtime } from '#shared/lambda/runtime.ts'

/**
 * Resolves the session token or the API key to the principal, in one statement. Every cause of refusal gets the same 401. A live key on a
 * route that is not open to keys gets a 403, and so does a session on a route for keys.
 */
export const bearer = (): Middleware => ({
  before: async ({ context }) => {
    const { endpoint, runtime } = matched(context.request)
    const sent = sentCredential(context.request.headers.all('authorization'))
    if ('kind' in sent && sent.kind === 'session') context.request.sentToken = sent.token
    if (!requiresPrincipal(endpoint.access)) return
    const checked = 'kind' in sent ? await check(runtime, endpoint, sent) : sent
    if ('cause' in checked) {
      countMetric('Unauthorized', checked.cause)
      throw unauthorized(checked.reason, checked.tokenSent)
    }
    context.request.principal = checked
    if (checked.kind === 'key' && !isOpenToKeys(endpoint)) throw forbidden('the route is not open to API keys')
    if (checked.kind === 'session' && endpoint.access === 'key') throw forbidden('the route is for API keys')
  },
})

// A key has no session to show. GET /v1/api-keys/current is what this is for a person.
const SHOWS_SESSION = 'GET /v1/auth/session'

async function check(
  runtime: Runtime,
  { route }: Endpoint,
  { kind, token }: SentCredential,
): Promise<Principal | Unauthenticated> {
  if (kind === 'session') return checkSession(runtime, token, authenticate)
  if (route === SHOWS_SESSION) return { cause: 'unknown', reason: 'an API key has no session', tokenSent: true }
  const found = await checkKey(runtime, token, authenticateKey)
  if (isLimited(found)) throw rateLimited(found)
  return found
}
