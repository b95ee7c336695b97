import { endpoint } from '#shared/http/endpoint.ts'
import { noContent } from '#shared/http/reply.ts'
import { endSessions } from './session-queries.ts'

export const endSession = endpoint({
  route: 'DELETE /v1/auth/session',
  access: 'session',
  summary: 'Sign out: end this session',
  revokes: true,
  async handle(context) {
    const { principal, sql } = context
    await endSessions(sql, context, { sessionId: principal.session.id, action: 'session.signed_out' })
    return noContent()
  },
})
