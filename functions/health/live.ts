import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'

export const live = endpoint({
  route: 'GET /health/live',
  access: 'anyone',
  handle: async () => ok({ status: 'ok' }),
})
