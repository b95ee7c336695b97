import type { TenantTransaction } from '#shared/db/scope.ts'
import type { Vendor } from '#shared/vendor/vendor.ts'

/** A vendor that the platform knows, or null. */
export async function searchVendor(sql: TenantTransaction, code: string): Promise<Vendor | null> {
  const [vendor] = await sql<Vendor>`select code, name, adapter from app.vendors where code = ${code}`
  return vendor ?? null
}

/** The vendor of an account, which is there as long as the account. */
export async function findVendor(sql: TenantTransaction, code: string): Promise<Vendor> {
  const vendor = await searchVendor(sql, code)
  if (vendor === null) throw new Error('the vendor of an account is gone')
  return vendor
}

/**
 * Notes what became of asking the vendor about a secret of this version; null when it was accepted. Only a refusal takes
 * the status `verified` away. False when the secret was replaced or erased meanwhile.
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
