import { errorCode, isUnavailable } from '#shared/db/failure.ts'
import { forbidden, Problem, problemBody, unauthorized, unavailable } from '#shared/http/problem.ts'
import type { Middleware } from '#shared/http/request.ts'
import { describeError, log } from '#shared/log.ts'

/** Turns whatever was thrown into problem details (RFC 9457), and logs why with the request's id. */
export const problemDetails = (baseUrl: string): Middleware => ({
  onError: (request) => {
    const { exchange } = request.context
    const problem = toProblem(request.error)
    const line = {
      request_id: exchange.requestId,
      route: exchange.matched === null ? null : `${exchange.matched.endpoint.method} ${exchange.matched.endpoint.path}`,
      status: problem.status,
      user_id: exchange.caller?.user.id,
      tenant_id: exchange.caller?.tenant?.id,
    }
    if (problem.status >= 500) log.error('request failed', { ...line, error: describeError(request.error) })
    else log.info('request refused', { ...line, reason: problem.message })
    request.response = {
      statusCode: problem.status,
      headers: { 'content-type': 'application/problem+json', ...problem.words.headers },
      body: JSON.stringify(problemBody(problem, exchange.requestId, baseUrl)),
    }
  },
})

function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (isUnavailable(error)) return unavailable(error)
  // Raised by app.enter_tenant and app.select_tenant.
  if (errorCode(error) === 'TN401') return unauthorized('the session died under the request', true)
  if (errorCode(error) === 'TN403') return forbidden('the role changed under the request')
  return new Problem(500, { cause: error })
}
