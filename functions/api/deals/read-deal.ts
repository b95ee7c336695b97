import { endpoint } from '#shared/http/endpoint.ts'
import { okWithEtag } from '#shared/http/etag.ts'
import { notFound } from '#shared/base/problem.ts'
import { Deal } from './deal.ts'
import { findDeal } from './deal-queries.ts'
import { visibleDeal } from './visible-prices.ts'

export const readDeal = endpoint({
  route: 'GET /v1/deals/{id}',
  access: { permission: 'deal.read' },
  summary: 'A deal with its lines',
  reply: Deal,
  etag: true,
  async handle({ params, principal, sql }) {
    const deal = await findDeal(sql, params.id)
    if (deal === null) throw notFound('no deal with this id')
    return okWithEtag(visibleDeal(principal, deal))
  },
})
