import { FIXED_HEADERS } from '#shared/http/fixed-headers.ts'
import { type Middleware, type PipelineContext, responseId } from '#shared/http/request.ts'

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
  const tenant = response.statusCode === 401 ? null : (state.principal?.tenant ?? null)
  response.headers = {
    'x-request-id': responseId(state),
    'cache-control': response.statusCode < 400 ? (state.matched?.endpoint.cache ?? 'no-store') : 'no-store',
    ...FIXED_HEADERS,
    ...(tenant === null ? {} : { 'x-tenant-id': tenant.id }),
    ...response.headers,
  }
}
