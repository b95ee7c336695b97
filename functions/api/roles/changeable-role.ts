import type { TenantTransaction } from '#shared/db/scope.ts'
import { forbidden, notFound } from '#shared/base/problem.ts'
import type { ListedRole } from '#shared/identity/listed-role.ts'
import { mayGive } from '#shared/identity/may-give.ts'
import { searchRoles } from '#shared/identity/role-queries.ts'
import type { TenantPrincipal } from '#shared/identity/session.ts'

/**
 * Returns a role that the principal may change: one of the tenant, which they do not hold and which they may give. Throws a 404 if
 * there is no such role, and a 403 for any other. The database asks the same at the write (TN430).
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
  if (!mayGive(principal, role)) throw forbidden('the principal may not give the role')
  return role
}
