import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { notFound } from '#shared/base/problem.ts'
import { PageQuery, page, pageOf } from '#shared/schema/page.ts'
import { findStyle } from './queries.ts'
import { searchVariants, Variant } from './variant-queries.ts'

export const listVariants = endpoint({
  route: 'GET /v1/catalog/styles/{id}/variants',
  access: { permission: 'catalog.read' },
  summary: 'The variants of a style by color and size, with the SKU of each vendor',
  query: v.object(PageQuery),
  reply: pageOf(Variant),
  async handle({ params, query: { cursor = null, limit }, sql }) {
    if ((await findStyle(sql, params.id)) === null) throw notFound('no style with this id')
    return ok(page(await searchVariants(sql, { styleId: params.id, after: cursor, limit }), limit))
  },
})
