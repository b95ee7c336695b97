import * as v from 'valibot'

export const MAX_QUANTITY = 1_000_000

export const Quantity = v.pipe(
  v.number('must be a number'),
  v.integer('must be an integer'),
  v.minValue(1, 'must be at least 1'),
  v.maxValue(MAX_QUANTITY, `must be at most ${MAX_QUANTITY}`),
  v.examples([24]),
)
