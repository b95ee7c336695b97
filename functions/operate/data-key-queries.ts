import type { TenantTransaction } from '#shared/db/scope.ts'
import type { WrappedKey } from '#shared/vault/kms.ts'
import { type DataKey, insertKey, type Purpose } from '#shared/vault/queries.ts'
import type { EncryptedSecret } from '#shared/vault/vault.ts'

const ids = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id)

/** The keys that are only opened with any more, the oldest first. */
export async function retiredKeys(sql: TenantTransaction, purpose: Purpose): Promise<string[]> {
  return ids(
    await sql<{ id: string }>`
      select id from app.data_keys
       where tenant_id = app.current_tenant() and purpose = ${purpose} and status = 'decrypt_only'
       order by retired_at, id`,
  )
}

/** Puts a new active key in the place of the tenant's, whose id it returns; null when there is none. One at a time. */
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

/** The accounts whose secret is sealed under a key, in the order of their ids, from the one after `after` on. */
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

/** False when the secret was replaced, erased or sealed anew meanwhile. */
export async function reseal(
  sql: TenantTransaction,
  {
    accountId,
    keyId,
    secretVersion,
    encrypted,
  }: { accountId: string; keyId: string; secretVersion: number; encrypted: EncryptedSecret },
): Promise<boolean> {
  const resealed = await sql`
    update app.vendor_accounts set sealed_secret = ${encrypted.bytes}, data_key_id = ${encrypted.dataKeyId}
     where id = ${accountId} and data_key_id = ${keyId} and secret_version = ${secretVersion}
    returning id`
  return resealed.length > 0
}

/** Fails with a violation of a foreign key while anything is sealed under the key; false when it was destroyed before. */
export async function destroyKey(sql: TenantTransaction, keyId: string): Promise<boolean> {
  const destroyed = await sql`
    update app.data_keys set status = 'destroyed', wrapped_key = null, destroyed_at = now()
     where id = ${keyId} and status = 'decrypt_only'
    returning id`
  return destroyed.length > 0
}

/** The keys that are wrapped by any other key of KMS. */
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

/** False when the key was destroyed or wrapped anew meanwhile. */
export async function replaceWrapping(sql: TenantTransaction, key: DataKey, by: WrappedKey): Promise<boolean> {
  const replaced = await sql`
    update app.data_keys set wrapped_key = ${by.wrapped}, kms_key_arn = ${by.kmsKeyArn}
     where id = ${key.id} and wrapped_key = ${key.wrapped}
    returning id`
  return replaced.length > 0
}

/** Holds every account that has a secret, after the writes to them that are under way. */
export async function lockVendorAccounts(sql: TenantTransaction): Promise<void> {
  await sql`
    select id from app.vendor_accounts
     where tenant_id = app.current_tenant() and status <> 'revoked' order by id for update`
}

/** Holds every data key, after the writes of what is sealed under them; those that come later wait for the transaction. */
export async function lockDataKeys(sql: TenantTransaction): Promise<void> {
  await sql`
    select id from app.data_keys
     where tenant_id = app.current_tenant() and status <> 'destroyed' order by id for update`
}

/** Erases the secrets of all accounts but those that another transaction holds; each is noted. How many there were. */
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
    ), noted as (
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
