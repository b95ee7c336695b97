import type { TenantTransaction } from '#shared/db/scope.ts'
import { BEGINNING, type Key, type ListRow } from '#shared/schema/page.ts'
import type { EncryptedSecret } from '#shared/vault/vault.ts'
import type { VendorAccount } from '#shared/suppliers/account.ts'

export type AccountStatus = VendorAccount['status']

interface AccountRow extends VendorAccount {
  readonly secret_version: number
  readonly sort_key: string
}

interface Search {
  readonly id?: string
  readonly statuses: readonly AccountStatus[]
  readonly after?: Key | null
  readonly limit?: number
}

/** Returns up to `limit` + 1 vendor accounts of the tenant, oldest first. */
export async function searchVendorAccounts(
  sql: TenantTransaction,
  search: Search,
): Promise<(ListRow<VendorAccount> & { readonly secretVersion: number })[]> {
  const { statuses, limit = 1 } = search
  const [createdAt, accountId] = search.after ?? BEGINNING
  const rows = await sql<AccountRow>`
    select a.id, json_build_object('code', v.code, 'name', v.name) as vendor, a.label, a.account_number, a.status,
           a.verified_at, a.checked_at, a.last_error, a.created_by, a.created_at, a.rotated_at, a.revoked_at,
           a.secret_version, to_json(a.created_at) as sort_key
      from app.vendor_accounts a
      join app.vendors v on v.code = a.vendor
     where a.tenant_id = (select app.current_tenant())
       and (${search.id ?? null}::uuid is null or a.id = ${search.id ?? null}::uuid)
       and a.status = any (string_to_array(${statuses.join(',')}, ','))
       and (a.created_at, a.id) > (${createdAt}::text::timestamptz, ${accountId}::uuid)
     order by a.created_at, a.id
     limit ${limit + 1}`
  return rows.map(({ secret_version: secretVersion, sort_key, ...item }) => ({
    item,
    key: [sort_key, item.id],
    secretVersion,
  }))
}

/** A vendor account and the version of its secret. No response shows the version. */
export interface FoundAccount {
  readonly account: VendorAccount
  readonly secretVersion: number
}

/** Returns the account with this id, or null. Finds a revoked account only if `statuses` names `revoked`. */
export async function findVendorAccount(
  sql: TenantTransaction,
  id: string,
  statuses: readonly AccountStatus[] = ['verified', 'unverified'],
): Promise<FoundAccount | null> {
  const [found] = await searchVendorAccounts(sql, { id, statuses })
  return found === undefined ? null : { account: found.item, secretVersion: found.secretVersion }
}

/** Stores an account. `lastError` is null if the vendor accepted its secret, else the reason for no verdict. */
export async function insertAccount(
  sql: TenantTransaction,
  account: {
    id: string
    vendor: string
    label: string | null
    accountNumber: string
    lastError: string | null
    encrypted: EncryptedSecret
  },
): Promise<void> {
  const { id, vendor, label, accountNumber, lastError, encrypted } = account
  await sql`
    insert into app.vendor_accounts
      (id, tenant_id, vendor, label, account_number, status, verified_at, checked_at, last_error,
       sealed_secret, data_key_id)
    values
      (${id}, app.current_tenant(), ${vendor}, ${label}, ${accountNumber},
       ${lastError === null ? 'verified' : 'unverified'}, case when ${lastError === null} then now() end, now(),
       ${lastError}, ${encrypted.bytes}, ${encrypted.dataKeyId})`
}

/** Replaces the secret of this version with a verified one. Returns false if it was replaced or erased concurrently. */
export async function replaceVendorSecret(
  sql: TenantTransaction,
  replacement: { id: string; replacedVersion: number; encrypted: EncryptedSecret },
): Promise<boolean> {
  const { id, replacedVersion, encrypted } = replacement
  const replaced = await sql`
    update app.vendor_accounts
       set sealed_secret = ${encrypted.bytes}, data_key_id = ${encrypted.dataKeyId},
           secret_version = ${replacedVersion + 1}, rotated_at = now(), status = 'verified', verified_at = now(), checked_at = now(), last_error = null
     where id = ${id} and secret_version = ${replacedVersion} and status <> 'revoked'
    returning id`
  return replaced.length > 0
}

/** Erases the secret of an account irrevocably. Returns false if the account does not exist or is already revoked. */
export async function eraseSecret(sql: TenantTransaction, id: string): Promise<boolean> {
  const erased = await sql`
    update app.vendor_accounts
       set status = 'revoked', revoked_at = now(), sealed_secret = null, data_key_id = null
     where id = ${id} and status <> 'revoked'
    returning id`
  return erased.length > 0
}
