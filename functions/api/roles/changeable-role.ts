import type { TenantTransaction } from '#shared/db/scope.ts'
import { forbidden, notFound } from '#shared/base/problem.ts'
import type { ListedRole } from '#shared/identity/listed-role.ts'
import { searchRoles } from '#shared/identity/role-queries.ts'
import type { TenantPrincipal } from '#shared/identity/session.ts'

/**
 * Returns a role that the principal may change: one of the tenant, which they do not hold and which does not outrank them.
 * Throws a 404 if there is no such role, and a 403 for any other.
 */
export async function changeableRole(
  sql: TenantTransaction,
  id: number,
  principal: TenantPrincipal,
): Promise<ListedRole> {
  const [role] = await searchRoles(sql, id)
  if (role === undefined) throw notFound('no role with this id')
  if (!role.tenant_role) throw forbidden('a role of the platform does not change')
  if (role.id === principal.role.id) throw forbidden('the principal holds the role')
  if (role.rank > principal.role.rank) throw forbidden('the role outranks the principal')
  return role
}
