import { endpoint } from '#shared/http/endpoint.ts'
import { noContent } from '#shared/http/reply.ts'
import { endSessions } from './queries.ts'

export const endSession = endpoint({
  route: 'DELETE /v1/auth/session',
  access: 'session',
  summary: 'Sign out: end this session',
  async handle(exchange) {
    const { caller, sql } = exchange
    await endSessions(sql, exchange, {
      userId: caller.user.id,
      sessionId: caller.session.id,
      others: false,
      action: 'session.signed_out',
    })
    return noContent()
  },
})
