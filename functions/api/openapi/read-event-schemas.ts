import * as v from 'valibot'
import { eventSchemas } from '#shared/audit/event-schema.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'

const Schemas = v.pipe(
  v.record(v.string(), v.record(v.string(), v.unknown())),
  v.examples([{ 'deal.created': { title: 'deal.created', type: 'object' } }]),
)

const data = eventSchemas()

// Public, like the API document: the schemas say nothing of any tenant.
export const readEventSchemas = endpoint({
  route: 'GET /v1/events/schemas',
  access: 'anyone',
  summary: 'Read the JSON Schema of the `detail` of each event that other services get, by action',
  reply: v.object({ data: Schemas }),
  cache: 'public, max-age=300',
  handle: async (_context) => ok({ data }),
})
