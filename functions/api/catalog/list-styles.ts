import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { PageQuery, page, pageOf, SearchText } from '#shared/schema/page.ts'
import { ok } from '#shared/http/reply.ts'
import { Style, searchStyles } from './queries.ts'

export const listStyles = endpoint({
  route: 'GET /v1/catalog/styles',
  access: { permission: 'catalog.read' },
  summary: 'Search the styles that the tenant may order',
  query: v.object({ ...PageQuery, q: v.optional(SearchText) }),
  reply: pageOf(Style),
  async handle({ query: { q = '', cursor = null, limit }, sql }) {
    const rows = await searchStyles(sql, { q: q.trim() === '' ? null : q, after: cursor, limit })
    return ok(page(rows, limit))
  },
})
