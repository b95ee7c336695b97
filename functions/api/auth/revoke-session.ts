import { endpoint } from '#shared/http/endpoint.ts'
import { notFound } from '#shared/base/problem.ts'
import { noContent } from '#shared/http/reply.ts'
import { endSessions } from './session-queries.ts'

export const revokeSession = endpoint({
  route: 'DELETE /v1/auth/sessions/{id}',
  access: { session: true, stepUp: true },
  summary: 'End one session of the user',
  revokes: true,
  async handle(context) {
    const { params, sql } = context
    const ended = await endSessions(sql, context, { sessionId: params.id, action: 'session.revoked' })
    if (ended === 0) throw notFound('the user has no live session with this id')
    return noContent()
  },
})
