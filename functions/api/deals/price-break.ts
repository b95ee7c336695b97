import * as v from 'valibot'
import { fault } from '#shared/schema/fault.ts'
import { Id } from '#shared/schema/id.ts'
import { type Money, SentPrice, UnitPrice } from '#shared/schema/money.ts'
import { Quantity } from './quantity.ts'

/** The price breaks of a style, by ascending quantity. A response has prices only for a role that may read them. */
export const PriceBreaks = v.pipe(
  v.object({
    style_id: Id,
    breaks: v.array(v.object({ min_quantity: Quantity, unit_price: v.optional(UnitPrice) })),
  }),
  v.title('PriceBreaks'),
)

export interface PriceBreak {
  readonly min_quantity: number
  readonly unit_price: Money
}

export const SentBreaks = v.pipe(
  v.array(v.object({ min_quantity: Quantity, unit_price: SentPrice })),
  v.maxLength(50),
  v.checkItems(
    ({ min_quantity: quantity }, index, all) => all.findIndex((other) => other.min_quantity === quantity) === index,
    fault({ code: 'duplicate', part: 'min_quantity', item: 'break' }),
  ),
)
