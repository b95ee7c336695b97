import * as v from 'valibot'
import { PERMISSIONS } from '#shared/identity/permissions.ts'
import { fault } from '#shared/schema/fault.ts'
import { name } from '#shared/schema/name.ts'

export const NewRoleCode = v.pipe(
  v.string(),
  v.regex(
    /^[a-z][a-z0-9-]{1,31}$/,
    fault({ code: 'wrong-format', format: '2 to 32 lowercase letters, digits and hyphens, and begin with a letter' }),
  ),
  v.examples(['night-shift']),
)

export const RoleLabel = name({ max: 60, example: 'Night shift' })

/** The permissions that a role of a tenant adds to those of its base. */
export const AddedPermissions = v.pipe(
  v.array(
    v.picklist(PERMISSIONS, fault({ code: 'not-a-choice', choices: 'a permission' })),
    fault({ code: 'wrong-type', type: 'a list' }),
  ),
  v.maxLength(PERMISSIONS.length, fault({ code: 'too-many', max: PERMISSIONS.length, items: 'permissions' })),
  v.examples([['deal.read']]),
)
