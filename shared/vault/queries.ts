import type { TenantTransaction } from '#shared/db/scope.ts'
import type { WrappedKey } from '#shared/vault/kms.ts'

/** What data keys are for; part of what each is bound to. */
export type Purpose = 'vendor-credential'

/** A tenant's data key, as it is stored. */
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

/** The key that the tenant seals with, or null before the first. */
export async function findActiveKey(sql: TenantTransaction, purpose: Purpose): Promise<DataKey | null> {
  const [row] = await sql<DataKeyRow>`
    select id, kms_key_arn, wrapped_key from app.data_keys
     where tenant_id = app.current_tenant() and purpose = ${purpose} and status = 'active'`
  return row === undefined ? null : toDataKey(row)
}

/** Stores a key as the tenant's active one; false when another was there first. */
export async function insertKey(sql: TenantTransaction, purpose: Purpose, key: DataKey): Promise<boolean> {
  const inserted = await sql`
    insert into app.data_keys (id, tenant_id, purpose, kms_key_arn, wrapped_key)
    values (${key.id}, app.current_tenant(), ${purpose}, ${key.kmsKeyArn}, ${key.wrapped})
    on conflict (tenant_id, purpose) where status = 'active' do nothing
    returning id`
  return inserted.length > 0
}

/** A sealed vendor secret, with its key and what it is bound to. */
export interface SealedVendorSecret {
  readonly vendor: string
  readonly accountNumber: string
  readonly secretVersion: number
  readonly bytes: Uint8Array
  readonly key: DataKey
}

/** Reads a sealed secret, which the tenant's audit log notes; null when there is none (any more) in the tenant. */
export async function readSealedSecret(
  sql: TenantTransaction,
  accountId: string,
  opening: { reason: string; actorUserId: string | null; requestId: string | null },
): Promise<SealedVendorSecret | null> {
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
