import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { ApiKey } from './api-key.ts'
import { byTicket, changed, refuse } from './change.ts'
import { revokeKey as revoke } from './queries.ts'

export const revokeKey = endpoint({
  route: 'DELETE /v1/api-keys/{id}',
  access: { permission: 'member.manage', transactions: 'by call', stepUp: true },
  summary: 'Revoke an API key: its next request is refused, and no write of it commits any more',
  revokes: true,
  reply: ApiKey,
  async handle(context) {
    const { params } = context
    if (!(await revoke(byTicket(context), params.id))) refuse('not-found')
    return ok(await changed(context, params.id))
  },
})
