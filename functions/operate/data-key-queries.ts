import type { TenantTransaction } from '#shared/db/scope.ts'
import type { WrappedKey } from '#shared/vault/kms.ts'
import { type DataKey, insertKey, type Purpose } from '#shared/vault/queries.ts'
import type { EncryptedSecret } from '#shared/vault/vault.ts'

const ids = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id)

/** Returns the data keys that only decrypt, the oldest first. */
export async function retiredKeys(sql: TenantTransaction, purpose: Purpose): Promise<string[]> {
  return ids(
    await sql<{ id: string }>`
      select id from app.data_keys
       where tenant_id = app.current_tenant() and purpose = ${purpose} and status = 'decrypt_only'
       order by retired_at, id`,
  )
}

/** Replaces the tenant's active data key. Concurrent calls take turns. Returns the id of the old one, or null when there is none. */
export async function replaceActiveKey(
  sql: TenantTransaction,
  purpose: Purpose,
  made: DataKey,
): Promise<string | null> {
  await sql`select pg_advisory_xact_lock(hashtextextended('data keys of ' || app.current_tenant()::text, 0))`
  const [replaced] = await sql<{ id: string }>`
    update app.data_keys set status = 'decrypt_only', retired_at = now()
     where tenant_id = app.current_tenant() and purpose = ${purpose} and status = 'active'
    returning id`
  if (replaced === undefined) return null
  if (!(await insertKey(sql, purpose, made))) throw new Error('there is an active key already')
  return replaced.id
}

/** Returns the vendor accounts whose secret is encrypted with a data key, by id, after `after`. */
export async function accountsUnder(
  sql: TenantTransaction,
  keyId: string,
  after: string | null,
  most: number,
): Promise<string[]> {
  return ids(
    await sql<{ id: string }>`
      select id from app.vendor_accounts
       where data_key_id = ${keyId} and (${after}::uuid is null or id > ${after}::uuid)
       order by id limit ${most}`,
  )
}

/** Stores a secret that was encrypted again. Returns false when the secret has changed since it was read. */
export async function reencrypt(
  sql: TenantTransaction,
  {
    accountId,
    keyId,
    secretVersion,
    encrypted,
  }: { accountId: string; keyId: string; secretVersion: number; encrypted: EncryptedSecret },
): Promise<boolean> {
  const reencrypted = await sql`
    update app.vendor_accounts set sealed_secret = ${encrypted.bytes}, data_key_id = ${encrypted.dataKeyId}
     where id = ${accountId} and data_key_id = ${keyId} and secret_version = ${secretVersion}
    returning id`
  return reencrypted.length > 0
}

/** Destroys a data key. Returns false when it was destroyed before. Throws a foreign key violation while a secret uses it. */
export async function destroyKey(sql: TenantTransaction, keyId: string): Promise<boolean> {
  const destroyed = await sql`
    update app.data_keys set status = 'destroyed', wrapped_key = null, destroyed_at = now()
     where id = ${keyId} and status = 'decrypt_only'
    returning id`
  return destroyed.length > 0
}

/** Returns the data keys that another KMS key wraps. */
export async function keysWrappedByOthers(
  sql: TenantTransaction,
  kmsKeyArn: string,
): Promise<(DataKey & { purpose: Purpose })[]> {
  const rows = await sql<{ id: string; purpose: Purpose; kms_key_arn: string; wrapped_key: Uint8Array }>`
    select id, purpose, kms_key_arn, wrapped_key from app.data_keys
     where tenant_id = app.current_tenant() and wrapped_key is not null and kms_key_arn <> ${kmsKeyArn}
     order by id`
  return rows.map(({ id, purpose, kms_key_arn, wrapped_key }) => ({
    id,
    purpose,
    kmsKeyArn: kms_key_arn,
    wrapped: wrapped_key,
  }))
}

/** Stores a data key that was wrapped again. Returns false when the data key has changed since it was read. */
export async function replaceWrapping(sql: TenantTransaction, key: DataKey, by: WrappedKey): Promise<boolean> {
  const replaced = await sql`
    update app.data_keys set wrapped_key = ${by.wrapped}, kms_key_arn = ${by.kmsKeyArn}
     where id = ${key.id} and wrapped_key = ${key.wrapped}
    returning id`
  return replaced.length > 0
}

/** Locks every vendor account that has a secret. */
export async function lockVendorAccounts(sql: TenantTransaction): Promise<void> {
  await sql`
    select id from app.vendor_accounts
     where tenant_id = app.current_tenant() and status <> 'revoked' order by id for update`
}

/** Locks every data key, so that no secret can be stored under one until the transaction ends. */
export async function lockDataKeys(sql: TenantTransaction): Promise<void> {
  await sql`
    select id from app.data_keys
     where tenant_id = app.current_tenant() and status <> 'destroyed' order by id for update`
}

/** Erases the secrets of all vendor accounts that no other transaction has locked, with an audit entry each. Returns their number. */
export async function eraseSecrets(sql: TenantTransaction, requestId: string): Promise<number> {
  const erased = await sql`
    with free as (
      select id from app.vendor_accounts
       where tenant_id = app.current_tenant() and status <> 'revoked' order by id for update skip locked
    ), erased as (
      update app.vendor_accounts a
         set status = 'revoked', revoked_at = now(), sealed_secret = null, data_key_id = null
        from free where a.id = free.id
      returning a.id
    ), recorded as (
      insert into app.audit_log (tenant_id, action, target_type, target_id, after, request_id)
      select app.current_tenant(), 'vendor_account.revoked', 'vendor_account', id, '{"by": "shred"}', ${requestId}
        from erased
    )
    select id from erased`
  return erased.length
}

export async function destroyAllKeys(sql: TenantTransaction): Promise<string[]> {
  return ids(
    await sql<{ id: string }>`
      update app.data_keys set status = 'destroyed', wrapped_key = null, destroyed_at = now()
       where tenant_id = app.current_tenant() and status <> 'destroyed'
      returning id`,
  )
}
