import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { Overview } from './overview.ts'
import { findOverview } from './overview-queries.ts'

export const readOverview = endpoint({
  route: 'GET /v1/tenant/overview',
  access: { permission: null },
  summary: 'What is in the tenant and what waits in it, of what the role may see',
  reply: Overview,
  async handle({ principal, sql }) {
    return ok(await findOverview(sql, principal.permissions))
  },
})
