import * as v from 'valibot'
import { EVERY_PERMISSION, PERMISSIONS } from '#shared/role/permissions.ts'
import { Role } from '#shared/role/role.ts'
import { name } from '#shared/schema/name.ts'

export const NewRoleCode = v.pipe(
  v.string('must be a string'),
  v.regex(/^[a-z][a-z0-9-]{1,31}$/, 'must be 2 to 32 lowercase letters, digits and hyphens, and begin with a letter'),
  v.examples(['night-shift']),
)

export const RoleLabel = name({ max: 60, example: 'Night shift' })

/** The permissions that a role of a tenant adds to those of its base. */
export const AddedPermissions = v.pipe(
  v.array(v.picklist(PERMISSIONS, 'must be a permission'), 'must be a list'),
  v.maxLength(PERMISSIONS.length, `must have at most ${PERMISSIONS.length} permissions`),
  v.examples([['deal.read']]),
)

/** A role with what it permits. `tenant_role` says that the tenant made it, `based_on` from which role of the platform. */
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

export type ListedRole = Readonly<v.InferOutput<typeof ListedRole>>
