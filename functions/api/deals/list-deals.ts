import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { AgePageQuery, page, pageOf, SearchText, someOf } from '#shared/schema/page.ts'
import { ListedDeal, STATUSES } from './deal.ts'
import { searchDeals } from './deal-queries.ts'
import { visibleListedDeal } from './visible-prices.ts'

export const listDeals = endpoint({
  route: 'GET /v1/deals',
  access: { permission: 'deal.read' },
  summary: 'Search the deals of the tenant by customer and number, newest first',
  query: v.object({
    ...AgePageQuery,
    status: v.optional(someOf(STATUSES), STATUSES.join(',')),
    q: v.optional(SearchText, ''),
  }),
  reply: pageOf(ListedDeal),
  async handle({ query: { status, q, cursor = null, limit }, principal, sql }) {
    const rows = await searchDeals(sql, { statuses: status, q: q.trim() || null, before: cursor, limit })
    const visible = rows.map(({ item, key }) => ({ item: visibleListedDeal(principal, item), key }))
    return ok(page(visible, limit))
  },
})
