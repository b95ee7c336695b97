import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { PageQuery, page, pageOf } from '#shared/schema/page.ts'
import { searchTags, Tag } from './queries.ts'

export const listTags = endpoint({
  route: 'GET /v1/tags',
  access: { permission: 'tag.read' },
  summary: 'The tags of the tenant, by name',
  query: v.object(PageQuery),
  reply: pageOf(Tag),
  async handle({ query: { cursor = null, limit }, sql }) {
    return ok(page(await searchTags(sql, { after: cursor, limit }), limit))
  },
})
