import type { MemberContext } from '#shared/audit/record-audit.ts'
import { forbidden } from '#shared/base/problem.ts'
import { mayGive } from '#shared/identity/may-give.ts'
import { findPermissions } from '#shared/identity/role-queries.ts'
import type { Role } from '#shared/identity/role.ts'
import type { TenantPrincipal } from '#shared/identity/session.ts'

/**
 * Throws a 403 unless the principal may give each role, and so take it away. Also where nothing is written: the database asks only
 * at a write (TN430).
 */
export async function requireMayGive(
  { sql, principal }: MemberContext & { readonly principal: TenantPrincipal },
  ...roles: readonly Role[]
): Promise<void> {
  // They travel in one round trip.
  const permitted = await Promise.all(roles.map(({ id }) => findPermissions(sql, id)))
  const given = roles.map(({ rank }, index) => ({ rank, permissions: permitted[index] ?? [] }))
  if (!given.every((role) => mayGive(principal, role))) throw forbidden('the principal may not give the role')
}
