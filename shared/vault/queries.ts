import type { TenantTransaction } from '#shared/db/scope.ts'
import type { WrappedKey } from '#shared/vault/key-service.ts'

/** What a data key encrypts. The KMS encryption context of the data key contains it. */
export type Purpose = 'vendor-credential'

/** A tenant's stored data key. */
export interface DataKey extends WrappedKey {
  readonly id: string
}

/** Returns the data key that encrypts the tenant's new secrets, or null before the first secret. */
export async function findActiveKey(sql: TenantTransaction, purpose: Purpose): Promise<DataKey | null> {
  const [key] = await sql<DataKey>`
    select id, kms_key_arn as "kmsKeyArn", wrapped_key as wrapped from app.data_keys
     where tenant_id = (select app.current_tenant()) and purpose = ${purpose} and status = 'active'`
  return key ?? null
}

/** Stores a data key as the tenant's active one. Returns false if the tenant already has one. */
export async function insertKey(sql: TenantTransaction, purpose: Purpose, key: DataKey): Promise<boolean> {
  const inserted = await sql`
    insert into app.data_keys (id, tenant_id, purpose, kms_key_arn, wrapped_key)
    values (${key.id}, app.current_tenant(), ${purpose}, ${key.kmsKeyArn}, ${key.wrapped})
    on conflict (tenant_id, purpose) where status = 'active' do nothing
    returning id`
  return inserted.length > 0
}

/** An encrypted vendor secret, with its data key and the parts of its encryption context. */
export interface EncryptedVendorSecret {
  readonly vendor: string
  readonly accountNumber: string
  readonly secretVersion: number
  readonly bytes: Uint8Array
  readonly key: DataKey
}

/** Writes the audit entry of an opening. Returns its id, or null if the tenant has no such secret. Commit before the next step. */
export async function recordOpening(
  sql: TenantTransaction,
  accountId: string,
  opening: { reason: string; requestId: string | null; clientRequestId?: string | null },
): Promise<string | null> {
  const { reason, requestId, clientRequestId = null } = opening
  const [row] = await sql<{ entry: string | null }>`
    select app.record_opening(${accountId}, ${reason}, ${requestId}, ${clientRequestId}) as entry`
  return row?.entry ?? null
}

/** Returns the encrypted secret for a committed audit entry of its opening. Returns null if it was erased in between. */
export async function readEncryptedSecret(
  sql: TenantTransaction,
  accountId: string,
  entry: string,
): Promise<EncryptedVendorSecret | null> {
  const [row] = await sql<SecretRow>`
    select vendor, account_number, secret_version, sealed_secret, data_key_id, kms_key_arn, wrapped_key
      from app.open_vendor_secret(${accountId}, ${entry})`
  return row === undefined ? null : encryptedSecret(row)
}

/** What app.open_vendor_secret returns. */
export interface SecretRow {
  readonly vendor: string
  readonly account_number: string
  readonly secret_version: number
  readonly sealed_secret: Uint8Array
  readonly data_key_id: string
  readonly kms_key_arn: string
  readonly wrapped_key: Uint8Array
}

export const encryptedSecret = (row: SecretRow): EncryptedVendorSecret => ({
  vendor: row.vendor,
  accountNumber: row.account_number,
  secretVersion: row.secret_version,
  bytes: row.sealed_secret,
  key: { id: row.data_key_id, kmsKeyArn: row.kms_key_arn, wrapped: row.wrapped_key },
})
