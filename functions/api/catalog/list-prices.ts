import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { Id } from '#shared/schema/id.ts'
import { PageQuery, page, pageOf } from '#shared/schema/page.ts'
import { searchPrices, VendorPrice } from './price-queries.ts'

export const listPrices = endpoint({
  route: 'GET /v1/catalog/prices',
  access: { permission: 'deal.price.read' },
  summary: 'The latest price of each vendor for each variant of a style',
  query: v.object({ ...PageQuery, style_id: Id }),
  reply: pageOf(VendorPrice),
  async handle({ query: { style_id: styleId, cursor = null, limit }, sql }) {
    return ok(page(await searchPrices(sql, { styleId, after: cursor, limit }), limit))
  },
})
