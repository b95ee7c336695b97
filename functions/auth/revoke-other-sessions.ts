import { endpoint } from '#shared/http/endpoint.ts'
import { noContent } from '#shared/http/reply.ts'
import { endSessions } from './queries.ts'

export const revokeOtherSessions = endpoint({
  route: 'DELETE /v1/auth/sessions',
  access: 'session',
  summary: 'End every session of the caller but this one',
  async handle(exchange) {
    const { caller, sql } = exchange
    await endSessions(sql, exchange, {
      userId: caller.user.id,
      sessionId: caller.session.id,
      others: true,
      action: 'session.revoked',
    })
    return noContent()
  },
})
