import { endpoint } from '#shared/http/endpoint.ts'
import { noContent } from '#shared/http/reply.ts'
import { revokeOtherSessions as revokeOthers } from './queries.ts'

export const revokeOtherSessions = endpoint({
  route: 'DELETE /v1/auth/sessions',
  access: 'session',
  async handle({ caller, sql }) {
    await revokeOthers(sql, caller.user.id, caller.session.id)
    return noContent()
  },
})
