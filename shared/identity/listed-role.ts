import * as v from 'valibot'
import { EVERY_PERMISSION, PERMISSIONS } from '#shared/identity/permissions.ts'
import { Role } from '#shared/identity/role.ts'
import { fault } from '#shared/schema/fault.ts'

/** A role with what it permits. `tenant_role` is true if the tenant made it. `based_on` is the code of its base, a role of the platform. */
export const ListedRole = v.pipe(
  v.object({
    ...Role.entries,
    tenant_role: v.boolean(),
    based_on: v.nullable(v.pipe(v.string(), v.examples(['production']))),
    permissions: v.pipe(
      v.array(v.picklist([...PERMISSIONS, EVERY_PERMISSION])),
      v.description('Sorted. `*` is every permission.'),
      v.examples([['catalog.read', 'deal.read']]),
    ),
  }),
  v.title('ListedRole'),
)

/** The query field of a list or an item that can bring along the roles. */
export const IncludeRoles = v.optional(
  v.pipe(
    v.picklist(['roles'], fault({ code: 'not-a-choice', choices: 'roles' })),
    v.description('`roles` adds every role that the tenant has, as GET /v1/roles lists them.'),
  ),
)

/** The roles in a response that was asked for them. */
export const IncludedRoles = v.optional(v.array(ListedRole))

export type ListedRole = Readonly<v.InferOutput<typeof ListedRole>>
