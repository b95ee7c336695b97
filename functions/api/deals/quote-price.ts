import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { invalid, notFound } from '#shared/base/problem.ts'
import { fault } from '#shared/schema/fault.ts'
import { Id } from '#shared/schema/id.ts'
import { Total, UnitPrice } from '#shared/schema/money.ts'
import { quote } from './price-queries.ts'
import { MAX_QUANTITY, Quantity } from './quantity.ts'

const WRONG_QUANTITY = fault({ code: 'out-of-range', min: 1, max: MAX_QUANTITY, type: 'an integer' })

export const quotePrice = endpoint({
  route: 'GET /v1/price-breaks/{style_id}/quote',
  access: { permission: 'deal.price.read' },
  summary: 'The price of a quantity of a style, or nulls when no price break qualifies',
  query: v.object({
    quantity: v.pipe(
      v.string(fault({ code: 'repeated' })),
      v.regex(/^[1-9]\d{0,6}$/, WRONG_QUANTITY),
      v.metadata({ type: 'integer', minimum: 1, maximum: MAX_QUANTITY }),
      v.examples(['24']),
      v.transform(Number),
      v.maxValue(MAX_QUANTITY, WRONG_QUANTITY),
    ),
  }),
  reply: v.object({
    style_id: Id,
    quantity: Quantity,
    min_quantity: v.nullable(Quantity),
    unit_price: v.nullable(UnitPrice),
    total: v.nullable(Total),
  }),
  async handle({ params, query: { quantity }, sql }) {
    const found = await quote(sql, params.style_id, quantity)
    if (found === null) throw notFound('no style with this id')
    const { fits, ...price } = found
    if (!fits) throw invalid([{ pointer: '#/quantity', code: 'total-too-large', has: 'gives' }])
    return ok({ style_id: params.style_id, quantity, ...price })
  },
})
