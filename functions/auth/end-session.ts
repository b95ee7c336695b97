import { endpoint } from '#shared/http/endpoint.ts'
import { noContent } from '#shared/http/reply.ts'
import { endSession as end } from './queries.ts'

export const endSession = endpoint({
  route: 'DELETE /v1/auth/session',
  access: 'session',
  async handle({ caller, sql }) {
    await end(sql, caller.user.id, caller.session.id)
    return noContent()
  },
})
