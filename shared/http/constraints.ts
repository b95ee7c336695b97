import { errorCode } from '#shared/db/failure.ts'
import { countMetric } from '#shared/metrics.ts'
import { forbidden, Problem, unauthorized } from '#shared/problem.ts'

/** The problem that a rule of the database stands for, or null: the migrations raise these SQLSTATEs by name. */
export function violation(error: unknown): Problem | null {
  switch (errorCode(error)) {
    case 'TN401':
      countMetric('Unauthorized', 'ended')
      return unauthorized('the session died under the request', true)
    case 'TN403':
      return forbidden('the role changed under the request')
    case 'TN409':
      return new Problem('last-owner', { detail: 'A tenant needs at least one owner.' })
    default:
      return null
  }
}
