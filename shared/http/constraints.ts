import { errorCode } from '#shared/db/failure.ts'
import { countMetric } from '#shared/base/metrics.ts'
import { forbidden, Problem, unauthorized } from '#shared/base/problem.ts'

/** Maps an SQLSTATE that the migrations raise to its problem. Returns null for any other error. */
export function violation(error: unknown): Problem | null {
  switch (errorCode(error)) {
    case 'TN401':
      countMetric('Unauthorized', 'ended')
      return unauthorized('the session ended during the request', true)
    case 'TN403':
      return forbidden(error instanceof Error ? error.message : 'the database refused the permission')
    case 'TN427':
      return new Problem('second-factor-required')
    case 'TN429':
      return new Problem('last-factor', {
        detail: 'A tenant of the user asks for a second factor, or the user has no password.',
      })
    case 'TN428':
      return new Problem('step-up-required')
    case 'TN430':
      return forbidden('the principal may not give a role, or take it away')
    case 'TN409':
      return new Problem('last-owner', { detail: 'A tenant needs at least one owner who can sign in.' })
    case 'TN410':
      return new Problem('position-expired', { detail: 'Begin without "after", and compare what you missed.' })
    default:
      return null
  }
}
