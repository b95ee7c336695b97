import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { AgePageQuery, page, pageOf } from '#shared/schema/page.ts'
import { ListedDesign } from './design.ts'
import { searchDesigns } from './queries.ts'

export const listDesigns = endpoint({
  route: 'GET /v1/designs',
  access: { permission: 'design.read' },
  summary: 'The designs of the tenant with their primary assets, newest first',
  query: v.object(AgePageQuery),
  reply: pageOf(ListedDesign),
  async handle({ query: { cursor = null, limit }, sql }) {
    return ok(page(await searchDesigns(sql, { before: cursor, limit }), limit))
  },
})
