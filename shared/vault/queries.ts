import type { TenantTransaction } from '#shared/db/scope.ts'
import type { WrappedKey } from '#shared/vault/kms.ts'

/** What a data key encrypts. Part of its encryption context. */
export type Purpose = 'vendor-credential'

/** A tenant's stored data key. */
export interface DataKey extends WrappedKey {
  readonly id: string
}

interface DataKeyRow {
  readonly id: string
  readonly kms_key_arn: string
  readonly wrapped_key: Uint8Array
}

const toDataKey = ({ id, kms_key_arn, wrapped_key }: DataKeyRow): DataKey => ({
  id,
  kmsKeyArn: kms_key_arn,
  wrapped: wrapped_key,
})

/** Returns the data key that encrypts the tenant's new secrets, or null before the first secret. */
export async function findActiveKey(sql: TenantTransaction, purpose: Purpose): Promise<DataKey | null> {
  const [row] = await sql<DataKeyRow>`
    select id, kms_key_arn, wrapped_key from app.data_keys
     where tenant_id = app.current_tenant() and purpose = ${purpose} and status = 'active'`
  return row === undefined ? null : toDataKey(row)
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

/** Returns an encrypted secret and adds an audit entry for it, or null if the tenant has no such secret. */
export async function readEncryptedSecret(
  sql: TenantTransaction,
  accountId: string,
  opening: { reason: string; actorUserId: string | null; requestId: string | null },
): Promise<EncryptedVendorSecret | null> {
  const { reason, actorUserId, requestId } = opening
  const [row] = await sql<{
    vendor: string
    account_number: string
    secret_version: number
    sealed_secret: Uint8Array
    data_key_id: string
    kms_key_arn: string
    wrapped_key: Uint8Array
  }>`select * from app.open_vendor_secret(${accountId}, ${reason}, ${actorUserId}, ${requestId})`
  if (row === undefined) return null
  return {
    vendor: row.vendor,
    accountNumber: row.account_number,
    secretVersion: row.secret_version,
    bytes: row.sealed_secret,
    key: { id: row.data_key_id, kmsKeyArn: row.kms_key_arn, wrapped: row.wrapped_key },
  }
}
