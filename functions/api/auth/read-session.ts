import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { Me, describePrincipal } from '#shared/identity/session.ts'

export const readSession = endpoint({
  route: 'GET /v1/auth/session',
  access: 'session',
  summary: 'Read the session: its user, tenant, role and permissions',
  description:
    '`second_factor` is what the tenant asks of the role: null, or `required_from`, and `satisfied` if this session has proven one. ' +
    'From `required_from` on, a session that has not is no longer live.',
  reply: Me,
  handle: async ({ principal }) => ok(describePrincipal(principal)),
})
