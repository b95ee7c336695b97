import * as v from 'valibot'

const fields = { id: v.pipe(v.number(), v.integer(), v.examples([6])), code: v.pipe(v.string(), v.examples(['2XL'])) }

/** A size, as other objects name it. */
export const SizeRef = v.pipe(v.object(fields), v.title('SizeRef'))

export type SizeRef = Readonly<v.InferOutput<typeof SizeRef>>

/** A size with its aliases. `position` is its place among the sizes, smallest first. */
export const Size = v.pipe(
  v.object({
    ...fields,
    position: v.pipe(v.number(), v.integer(), v.examples([6])),
    aliases: v.array(v.pipe(v.string(), v.examples(['2X']))),
  }),
  v.title('Size'),
)

export type Size = Readonly<v.InferOutput<typeof Size>>

export const SizeList = v.object({ data: v.array(Size) })
