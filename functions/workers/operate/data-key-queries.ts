import type { TenantTransaction } from '#shared/db/scope.ts'
import type { WrappedKey } from '#shared/vault/key-service.ts'
import { type DataKey, insertKey, type Purpose } from '#shared/vault/queries.ts'
import type { EncryptedSecret } from '#shared/vault/vault.ts'
import type { Instruction } from './instruction.ts'

const ids = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id)

/** Returns the data keys that decrypt secrets but no longer encrypt new ones, oldest first. */
export async function retiredKeys(sql: TenantTransaction, purpose: Purpose): Promise<string[]> {
  return ids(
    await sql<{ id: string }>`
      select id from app.data_keys
       where tenant_id = (select app.current_tenant()) and purpose = ${purpose} and status = 'decrypt_only'
       order by retired_at, id`,
  )
}

/** Retires the active data key and stores a new one, one caller at a time. Returns the retired key's id, or null. */
export async function replaceActiveKey(
  sql: TenantTransaction,
  purpose: Purpose,
  created: DataKey,
): Promise<string | null> {
  await sql`select pg_advisory_xact_lock(hashtextextended('data keys of ' || app.current_tenant()::text, 0))`
  const [retired] = await sql<{ id: string }>`
    update app.data_keys set status = 'decrypt_only', retired_at = now()
     where tenant_id = (select app.current_tenant()) and purpose = ${purpose} and status = 'active'
    returning id`
  if (retired === undefined) return null
  if (!(await insertKey(sql, purpose, created))) throw new Error('the tenant still has an active data key')
  return retired.id
}

/** Returns up to `limit` accounts whose secret is encrypted under a data key, in id order, starting after `after`. */
export async function accountsUnder(
  sql: TenantTransaction,
  keyId: string,
  after: string | null,
  limit: number,
): Promise<string[]> {
  return ids(
    await sql<{ id: string }>`
      select id from app.vendor_accounts
       where data_key_id = ${keyId} and (${after}::uuid is null or id > ${after}::uuid)
       order by id limit ${limit}`,
  )
}

/** Replaces the ciphertext of a secret. Returns false if another transaction replaced, erased or re-encrypted the secret. */
export async function replaceCiphertext(
  sql: TenantTransaction,
  {
    accountId,
    keyId,
    secretVersion,
    encrypted,
  }: { accountId: string; keyId: string; secretVersion: number; encrypted: EncryptedSecret },
): Promise<boolean> {
  const replaced = await sql`
    update app.vendor_accounts set sealed_secret = ${encrypted.bytes}, data_key_id = ${encrypted.dataKeyId}
     where id = ${accountId} and data_key_id = ${keyId} and secret_version = ${secretVersion}
    returning id`
  return replaced.length > 0
}

/** Destroys a retired data key. Returns false if it is gone. Throws a foreign key violation while a secret needs it. */
export async function destroyKey(sql: TenantTransaction, keyId: string): Promise<boolean> {
  const destroyed = await sql`
    update app.data_keys set status = 'destroyed', wrapped_key = null, destroyed_at = now()
     where id = ${keyId} and status = 'decrypt_only'
    returning id`
  return destroyed.length > 0
}

/** Returns the tenant's data keys that another KMS key wraps. */
export async function keysNotWrappedBy(
  sql: TenantTransaction,
  kmsKeyArn: string,
): Promise<(DataKey & { purpose: Purpose })[]> {
  const rows = await sql<{ id: string; purpose: Purpose; kms_key_arn: string; wrapped_key: Uint8Array }>`
    select id, purpose, kms_key_arn, wrapped_key from app.data_keys
     where tenant_id = (select app.current_tenant()) and wrapped_key is not null and kms_key_arn <> ${kmsKeyArn}
     order by id`
  return rows.map(({ id, purpose, kms_key_arn, wrapped_key }) => ({
    id,
    purpose,
    kmsKeyArn: kms_key_arn,
    wrapped: wrapped_key,
  }))
}

/** Stores a data key's new wrapping. Returns false if the key was destroyed or rewrapped concurrently. */
export async function replaceWrapping(sql: TenantTransaction, key: DataKey, rewrapped: WrappedKey): Promise<boolean> {
  const replaced = await sql`
    update app.data_keys set wrapped_key = ${rewrapped.wrapped}, kms_key_arn = ${rewrapped.kmsKeyArn}
     where id = ${key.id} and wrapped_key = ${key.wrapped}
    returning id`
  return replaced.length > 0
}

/** Locks every account that has a secret. Waits for writes in progress. */
export async function lockVendorAccounts(sql: TenantTransaction): Promise<void> {
  await sql`
    select id from app.vendor_accounts
     where tenant_id = (select app.current_tenant()) and status <> 'revoked' order by id for update`
}

/** Locks every data key. Waits for the transactions that store secrets under them. Later ones wait for this one. */
export async function lockDataKeys(sql: TenantTransaction): Promise<void> {
  await sql`
    select id from app.data_keys
     where tenant_id = (select app.current_tenant()) and status <> 'destroyed' order by id for update`
}

/** Erases every secret whose row no other transaction locks, and audits each. Returns how many it erased. */
export async function eraseSecrets(
  sql: TenantTransaction,
  { operator, reason, requestId }: Instruction,
): Promise<number> {
  const after = JSON.stringify({ by: 'shred', operator, reason })
  const erased = await sql`
    with free as (
      select id from app.vendor_accounts
       where tenant_id = (select app.current_tenant()) and status <> 'revoked' order by id for update skip locked
    ), erased as (
      update app.vendor_accounts a
         set status = 'revoked', revoked_at = now(), sealed_secret = null, data_key_id = null
        from free where a.id = free.id
      returning a.id
    ), audited as (
      insert into app.audit_log (tenant_id, action, target_type, target_id, after, request_id)
      select (select app.current_tenant()), 'vendor_account.revoked', 'vendor_account', id, ${after}::text::jsonb, ${requestId}
        from erased
    )
    select id from erased`
  return erased.length
}

/** Destroys every data key of the tenant and returns their ids. */
export async function destroyAllKeys(sql: TenantTransaction): Promise<string[]> {
  return ids(
    await sql<{ id: string }>`
      update app.data_keys set status = 'destroyed', wrapped_key = null, destroyed_at = now()
       where tenant_id = (select app.current_tenant()) and status <> 'destroyed'
      returning id`,
  )
}
