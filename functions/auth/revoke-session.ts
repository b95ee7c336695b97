import { endpoint } from '#shared/http/endpoint.ts'
import { notFound } from '#shared/http/problem.ts'
import { noContent } from '#shared/http/reply.ts'
import { revokeSession as revoke } from './queries.ts'

export const revokeSession = endpoint({
  route: 'DELETE /v1/auth/sessions/{id}',
  access: 'session',
  async handle({ caller, params, sql }) {
    const revoked = await revoke(sql, caller.user.id, params.id)
    if (!revoked) throw notFound('no live session of the caller has this id')
    return noContent()
  },
})
