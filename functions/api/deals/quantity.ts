import * as v from 'valibot'

export const MAX_QUANTITY = 1_000_000

export const Quantity = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_QUANTITY), v.examples([24]))
