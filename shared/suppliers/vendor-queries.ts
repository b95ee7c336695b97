import type { TenantTransaction } from '#shared/db/scope.ts'
import type { Vendor } from '#shared/suppliers/vendor.ts'

/** Returns the vendor with this code, or null. */
export async function searchVendor(sql: TenantTransaction, code: string): Promise<Vendor | null> {
  const [vendor] = await sql<Vendor>`select code, name, adapter from app.vendors where code = ${code}`
  return vendor ?? null
}

export const searchVendors = (sql: TenantTransaction): Promise<Pick<Vendor, 'code' | 'name'>[]> =>
  sql<Pick<Vendor, 'code' | 'name'>>`select code, name from app.vendors order by name, code`

/** Returns the vendor of an account. A foreign key guarantees that it exists. */
export async function findVendor(sql: TenantTransaction, code: string): Promise<Vendor> {
  const vendor = await searchVendor(sql, code)
  if (vendor === null) throw new Error(`the vendor ${code} of a vendor account does not exist`)
  return vendor
}

/**
 * Stores the result of checking this version of a secret. `lastError` is null if the vendor accepted it. Only `refused`
 * sets the status to `unverified`. Returns false if the secret was replaced or erased during the check.
 */
export async function recordCheck(
  sql: TenantTransaction,
  check: { accountId: string; secretVersion: number; lastError: string | null },
): Promise<boolean> {
  const { accountId, secretVersion, lastError } = check
  const recorded = await sql`
    update app.vendor_accounts
       set status = case when ${lastError === null} then 'verified' when ${lastError === 'refused'} then 'unverified'
                         else status end,
           verified_at = case when ${lastError === null} then now() else verified_at end,
           checked_at = now(), last_error = ${lastError}
     where id = ${accountId} and secret_version = ${secretVersion} and status <> 'revoked'
    returning id`
  return recorded.length > 0
}
