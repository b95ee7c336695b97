import { routeGroup } from '#shared/http/group.ts'
import { createRole } from './create-role.ts'
import { deleteRole } from './delete-role.ts'
import { listRoles } from './list-roles.ts'
import { readRole } from './read-role.ts'
import { updateRole } from './update-role.ts'

export const group = routeGroup({
  name: 'roles',
  bodyLimitBytes: 16 * 1024,
  endpoints: [listRoles, createRole, readRole, updateRole, deleteRole],
})
