import { encodeSession, PREFER_SESSION, SESSION_HEADER } from '#shared/identity/session-header.ts'
import { FIXED_HEADERS } from '#shared/http/fixed-headers.ts'
import { type Middleware, type PipelineContext, type RequestState, responseId } from '#shared/http/request.ts'
import { describePrincipal, type SessionPrincipal } from '#shared/identity/session.ts'

/** Sets the common headers on every response, also on a failure. */
export const responseHeaders = (): Middleware => ({ after: finish, onError: finish })

function finish(request: {
  context: PipelineContext
  response?: { headers?: object; statusCode: number } | null
}): void {
  const { response, context } = request
  if (response === undefined || response === null) return
  const { request: state } = context
  // A 401 is the same for every cause, so a session that ended during its request reveals no tenant.
  const principal = response.statusCode === 401 ? null : state.principal
  const tenant = principal?.tenant ?? null
  response.headers = {
    'x-request-id': responseId(state),
    'cache-control': response.statusCode < 400 ? (state.matched?.endpoint.cache ?? 'no-store') : 'no-store',
    ...FIXED_HEADERS,
    ...(tenant === null ? {} : { 'x-tenant-id': tenant.id }),
    ...(principal?.kind === 'session' ? sessionHeader(state, principal) : {}),
    ...response.headers,
  }
}

// API Gateway fails a response with more than 10,240 bytes of headers.
const MOST_CHARACTERS = 8192

/** A write may have changed the session, so only a read brings it along. */
function sessionHeader({ matched, headers }: RequestState, principal: SessionPrincipal) {
  if (matched?.endpoint.method !== 'GET' || headers.get('prefer') !== PREFER_SESSION.prefer) return {}
  const session = encodeSession(describePrincipal(principal))
  return session.length > MOST_CHARACTERS ? {} : { [SESSION_HEADER]: session }
}
