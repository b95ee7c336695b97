import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { Me, describePrincipal } from '#shared/identity/session.ts'

export const readSession = endpoint({
  route: 'GET /v1/auth/session',
  access: 'session',
  summary: 'Read the session: its user, tenant, role and permissions',
  reply: Me,
  handle: async ({ principal }) => ok(describePrincipal(principal)),
})
