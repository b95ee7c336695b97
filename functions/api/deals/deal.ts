import * as v from 'valibot'
import { fault } from '#shared/schema/fault.ts'
import { Id } from '#shared/schema/id.ts'
import { SentPrice, Total, UnitPrice } from '#shared/schema/money.ts'
import { text } from '#shared/schema/text.ts'
import { Timestamp } from '#shared/schema/timestamp.ts'
import { Quantity } from './quantity.ts'

export const STATUSES = ['draft', 'quoted', 'won', 'lost'] as const

export type Status = (typeof STATUSES)[number]

export const CustomerName = text({ max: 200, example: 'Riverside High School' })

const Color = text({ max: 60, example: 'Navy' })
const NOT_A_SIZE = fault({ code: 'unknown', kind: 'the id of a size' })

const SizeId = v.pipe(
  v.number(),
  v.integer(),
  v.minValue(1, NOT_A_SIZE),
  v.maxValue(32_767, NOT_A_SIZE),
  v.examples([4]),
)

/** A deal in a list. `total` is present only for a role that may read prices. */
export const ListedDeal = v.pipe(
  v.object({
    id: Id,
    number: v.pipe(v.number(), v.integer(), v.examples([17])),
    customer_name: CustomerName,
    status: v.picklist(STATUSES),
    currency: v.pipe(v.string(), v.examples(['USD'])),
    created_by: v.nullable(Id),
    created_by_key: v.nullable(Id),
    created_at: Timestamp,
    updated_at: Timestamp,
    total: v.optional(Total),
  }),
  v.title('ListedDeal'),
)

export type ListedDeal = Readonly<v.InferOutput<typeof ListedDeal>>

/** A line of a deal. The price, its source and the total are present only for a role that may read prices. */
export const DealLine = v.pipe(
  v.object({
    id: Id,
    style: v.object({
      id: Id,
      style_number: v.pipe(v.string(), v.examples(['2000'])),
      name: v.pipe(v.string(), v.examples(['Ultra Cotton T-Shirt'])),
    }),
    color: v.nullable(Color),
    size: v.nullable(v.object({ id: SizeId, code: v.pipe(v.string(), v.examples(['L'])) })),
    quantity: Quantity,
    unit_price: v.optional(UnitPrice),
    price_source: v.optional(v.picklist(['break', 'manual'])),
    total: v.optional(Total),
  }),
  v.title('DealLine'),
)

export type DealLine = Readonly<v.InferOutput<typeof DealLine>>

export const Deal = v.pipe(v.object({ ...ListedDeal.entries, lines: v.array(DealLine) }), v.title('Deal'))

export type Deal = ListedDeal & { readonly lines: readonly DealLine[] }

const SentLine = v.object({
  style_id: v.pipe(Id, v.toLowerCase()),
  color: v.nullish(Color, null),
  size_id: v.nullish(SizeId, null),
  quantity: Quantity,
  unit_price: v.nullish(SentPrice, null),
})

export type SentLine = Readonly<v.InferOutput<typeof SentLine>>

export const SentLines = v.pipe(
  v.array(SentLine),
  v.maxLength(200),
  v.examples([
    [{ style_id: '0a5b8f52-6c1d-4f7e-9b3a-2d4c6e8f0a1b', color: 'Navy', size_id: 4, quantity: 24, unit_price: null }],
  ]),
)
