import type { TenantTransaction } from '#shared/db/scope.ts'
import { invalid } from '#shared/base/problem.ts'
import { ROLE_NAMES } from '#shared/identity/role-names.ts'
import { isLabelTaken } from './queries.ts'

const PLATFORM_NAMES = Object.values(ROLE_NAMES).flatMap((names) => Object.values(names))

/**
 * Throws a 422 if another role of the tenant, or one of the platform in any language, has this label. Case does not count. The
 * database keeps the labels of a tenant apart: roles_one_per_label.
 */
export async function requireFreeLabel(
  sql: TenantTransaction,
  label: string,
  own: number | null = null,
): Promise<void> {
  if (await isLabelTaken(sql, { label, others: PLATFORM_NAMES, own }))
    throw invalid([{ pointer: '#/label', code: 'duplicate', part: 'name', item: 'role' }])
}
