import { endpoint } from '#shared/http/endpoint.ts'
import { okWithEtag } from '#shared/http/etag.ts'
import { notFound } from '#shared/base/problem.ts'
import { PriceBreaks } from './price-break.ts'
import { findPriceBreaks } from './price-queries.ts'

export const readPriceBreaks = endpoint({
  route: 'GET /v1/price-breaks/{style_id}',
  access: { permission: 'deal.price.read' },
  summary: 'The price breaks of a style, by quantity',
  reply: PriceBreaks,
  etag: true,
  async handle({ params, sql }) {
    const breaks = await findPriceBreaks(sql, params.style_id)
    if (breaks === null) throw notFound('no style with this id')
    return okWithEtag({ style_id: params.style_id, breaks })
  },
})
