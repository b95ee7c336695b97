import { type Problem, problemBody } from '#shared/base/problem.ts'

/** A failure as it is sent. */
export interface ShownProblem {
  readonly contentType: string
  readonly body: object
}

/** How a route group shows a failure. The status and the headers are those of the problem. */
export type ShowProblem = (
  problem: Problem,
  at: { readonly requestId: string; readonly baseUrl: string },
) => ShownProblem

/** Shows problem details (RFC 9457). */
export const showProblem: ShowProblem = (problem, { requestId, baseUrl }) => ({
  contentType: 'application/problem+json',
  body: problemBody(problem, requestId, baseUrl),
})
