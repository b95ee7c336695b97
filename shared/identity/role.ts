import * as v from 'valibot'
import { RoleCode } from '#shared/identity/role-code.ts'

/** A role. Members may give and change only roles that do not outrank their own. */
export const Role = v.pipe(
  v.object({
    id: v.pipe(v.number(), v.integer(), v.examples([3])),
    code: RoleCode,
    label: v.pipe(v.string(), v.examples(['Sales'])),
    rank: v.pipe(v.number(), v.integer(), v.examples([50])),
  }),
  v.title('Role'),
)

export type Role = Readonly<v.InferOutput<typeof Role>>

export const OWNER_ROLE_ID = 1

export const isOwnerRole = ({ id }: Pick<Role, 'id'>): boolean => id === OWNER_ROLE_ID
