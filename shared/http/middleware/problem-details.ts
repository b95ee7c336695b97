import { violation } from '#shared/http/constraints.ts'
import { isUnavailable } from '#shared/db/failure.ts'
import { Problem, unavailable } from '#shared/base/problem.ts'
import { type ShowProblem, showProblem } from '#shared/http/show-problem.ts'
import { type Middleware, responseId } from '#shared/http/request.ts'
import { describeError, log } from '#shared/base/log.ts'
import { countMetric } from '#shared/base/metrics.ts'

/**
 * Turns an error into a response: problem details, unless the group shows its failures otherwise. Logs the reason with the
 * request id.
 */
export const problemDetails = (baseUrl: string, show: ShowProblem = showProblem): Middleware => ({
  onError: (request) => {
    const { request: state } = request.context
    const problem = toProblem(request.error)
    const line = {
      request_id: state.requestId,
      client_request_id: state.client.requestId ?? undefined,
      route: state.matched === null ? null : `${state.matched.endpoint.method} ${state.matched.endpoint.path}`,
      status: problem.status,
      user_id: state.principal?.kind === 'session' ? state.principal.user.id : undefined,
      key_id: state.principal?.kind === 'key' ? state.principal.key.id : undefined,
      tenant_id: state.principal?.tenant?.id,
    }
    if (problem.status === 403) countMetric('Forbidden')
    if (problem.status >= 500) countMetric('ServerError')
    if (problem.status >= 500) log.error('request failed', { ...line, error: describeError(request.error) })
    else log.info('request refused', { ...line, reason: problem.message })
    const { contentType, body } = show(problem, { requestId: responseId(state), baseUrl })
    request.response = {
      statusCode: problem.status,
      headers: { 'content-type': contentType, ...problem.options.headers },
      body: JSON.stringify(body),
    }
  },
})

function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  if (isUnavailable(error)) return unavailable(error)
  return violation(error) ?? new Problem(500, { cause: error })
}
