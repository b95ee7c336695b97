import { PAGE_HEADERS } from '#web/http/headers.ts'
import type { WebContext, WebMiddleware } from '#web/http/request.ts'

/** Sets the common headers and the cookies on every response, also on a failure. */
export const pageHeaders = (): WebMiddleware => ({ after: finish, onError: finish })

function finish(request: {
  context: WebContext
  response?: { headers?: object; multiValueHeaders?: object; statusCode: number } | null
}): void {
  const { response, context } = request
  if (response === undefined || response === null) return
  const { requestId, setCookies } = context.request
  response.headers = { 'x-request-id': requestId, 'cache-control': 'no-store', ...PAGE_HEADERS, ...response.headers }
  if (setCookies.length > 0) response.multiValueHeaders = { 'set-cookie': setCookies }
}
