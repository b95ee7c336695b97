import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'

export const live = endpoint({
  route: 'GET /health/live',
  access: 'anyone',
  summary: 'Check that the service runs',
  reply: v.object({ status: v.literal('ok') }),
  handle: async (_context) => ok({ status: 'ok' }),
})
