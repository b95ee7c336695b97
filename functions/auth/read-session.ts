import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { describeCaller } from '#shared/session/session.ts'

export const readSession = endpoint({
  route: 'GET /v1/auth/session',
  access: 'session',
  handle: async ({ caller }) => ok(describeCaller(caller)),
})
