import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { isStorable, PageQuery, page } from '#shared/http/page.ts'
import { ok } from '#shared/http/reply.ts'
import { searchStyles } from './queries.ts'

const SearchText = v.pipe(
  v.string('must be given once'),
  v.maxLength(200, 'must have at most 200 characters'),
  v.check(isStorable, 'must be text'),
)

export const listStyles = endpoint({
  route: 'GET /v1/catalog/styles',
  access: { permission: 'catalog.read' },
  query: v.object({ ...PageQuery, q: v.optional(SearchText) }),
  async handle({ query: { q = '', cursor = null, limit }, sql }) {
    const styles = await searchStyles(sql, { q: q.trim() === '' ? null : q, after: cursor, limit })
    return ok(
      page(
        styles,
        limit,
        (style) => [style.style_number, style.id],
        (style) => style,
      ),
    )
  },
})
