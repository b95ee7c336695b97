import { endpoint } from '#shared/http/endpoint.ts'
import { noContent } from '#shared/http/reply.ts'
import { endSessions } from './session-queries.ts'

export const revokeOtherSessions = endpoint({
  route: 'DELETE /v1/auth/sessions',
  access: { session: true, stepUp: true },
  summary: 'End every other session of the user',
  revokes: true,
  async handle(context) {
    await endSessions(context.sql, context, { sessionId: null, action: 'session.revoked' })
    return noContent()
  },
})
