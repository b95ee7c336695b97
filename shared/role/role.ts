import * as v from 'valibot'

/** A role by its code: what clients name it by. */
export const RoleName = v.pipe(v.string(), v.examples(['sales']))

/** A role; one of a higher rank may change those below. */
export const Role = v.pipe(
  v.object({
    id: v.pipe(v.number(), v.integer(), v.examples([3])),
    code: RoleName,
    label: v.pipe(v.string(), v.examples(['Sales'])),
    rank: v.pipe(v.number(), v.integer(), v.examples([50])),
  }),
  v.title('Role'),
)

export type Role = Readonly<v.InferOutput<typeof Role>>
