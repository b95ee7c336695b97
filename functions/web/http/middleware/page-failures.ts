import { ProblemError } from '#shared/client/client.ts'
import { describeError, log } from '#shared/base/log.ts'
import { countMetric } from '#shared/base/metrics.ts'
import { Problem, unavailable } from '#shared/base/problem.ts'
import { bareFailure, failurePage } from '#web/http/failure.ts'
import { FormElsewhere } from '#web/http/form-elsewhere.ts'
import { returnAddress } from '#web/http/form-address.ts'
import { TrailingSlash } from '#web/http/trailing-slash.ts'
import { NoShop, OtherShop } from '#web/http/middleware/shop.ts'
import { otherShop } from '#web/http/other-shop.ts'
import { refusalOf } from '#web/http/refusal.ts'
import type { Render } from '#web/http/render.ts'
import { redirect } from '#web/http/reply.ts'
import { keepTyped } from '#web/http/typed.ts'
import { hasSessionCookie, type WebMiddleware, type WebState } from '#web/http/request.ts'
import { withQuery } from '#web/view/parts.ts'

/** Turns an error into a page, and logs the reason with the request id. */
export const pageFailures = (render: Render): WebMiddleware => ({
  onError: (request) => {
    const { error } = request
    const state = request.context.request
    try {
      if (error instanceof FormElsewhere) {
        request.response = render(state, redirect(returnAddress(state) ?? '/'))
        return
      }
      if (error instanceof TrailingSlash) {
        request.response = render(state, redirect(error.to))
        return
      }
      if (error instanceof NoShop || (error instanceof ProblemError && error.kind === 'tenant-not-selected')) {
        keepTyped(state)
        request.response = render(state, redirect(withQuery('/shops', { next: returnAddress(state) })))
        return
      }
      if (error instanceof ProblemError && error.kind === 'step-up-required') {
        request.response = render(state, redirect(withQuery('/account/confirm', { next: returnAddress(state) })))
        return
      }
      // A page of the person chooses a shop. In the settings of a shop the refusal is of a form.
      if (
        error instanceof ProblemError &&
        error.kind === 'second-factor-required' &&
        state.matched?.page.access === 'session'
      ) {
        const to = withQuery('/account/second-factor', { next: returnAddress(state) })
        request.response = render(state, redirect(to, { notice: 'second-factor-required' }))
        return
      }
      if (error instanceof OtherShop) keepTyped(state)
      request.response =
        error instanceof OtherShop
          ? render(state, otherShop(state, error))
          : failed(render, state, toProblem(error, state))
    } catch (cause) {
      log.error('page failed', { request_id: state.requestId, error: describeError(cause) })
      request.response = bareFailure(state.language, new Problem(500), state.requestId)
    }
  },
})

function failed(render: Render, state: WebState, problem: Problem) {
  record(state, problem)
  if (problem.status === 401) return render(state, signedOut(state))
  return state.runtime === null
    ? bareFailure(state.language, problem, state.requestId)
    : render(state, (ui) => failurePage(ui, state, problem))
}

function record(state: WebState, problem: Problem): void {
  const line = { request_id: state.requestId, page: state.matched?.page.route, status: problem.status }
  if (problem.status === 403) countMetric('Forbidden')
  if (problem.status < 500) return log.info('page refused', { ...line, reason: problem.message })
  countMetric('ServerError')
  log.error('page failed', { ...line, error: describeError(problem) })
}

/**
 * The session has ended, or there is none. After the sign-in, the browser comes back to a page that can be opened again. The cookies stay:
 * another tab may have set new ones in between. The sign-in deletes them if the API refuses them too.
 */
function signedOut(state: WebState) {
  const ended = hasSessionCookie(state)
  keepTyped(state)
  return redirect(withQuery('/sign-in', { next: returnAddress(state) }), { notice: ended ? 'session-ended' : null })
}

/** What the API refuses, the front end refuses too. A failure of the API is a 503, after which the session goes on. */
function toProblem(error: unknown, state: WebState): Problem {
  if (error instanceof Problem) return error
  if (error instanceof ProblemError && error.status >= 500) return unavailable(error)
  if (error instanceof ProblemError && (error.status === 401 || error.status === 403 || error.status === 404))
    return new Problem(error.status, { reason: `the API refused: ${error.kind}` })
  const refusal = state.matched === null ? null : refusalOf(error, state)
  if (refusal === null) return new Problem(500, { cause: error })
  const [first] = refusal.errors
  return new Problem(refusal.status, {
    reason: error instanceof ProblemError ? `the API refused: ${error.kind}` : 'the form was refused',
    ...(first === undefined ? {} : { detail: first.message }),
    headers: refusal.retryAfterSeconds === null ? {} : { 'retry-after': String(refusal.retryAfterSeconds) },
  })
}
