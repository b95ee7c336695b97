import type { TenantSql } from '#shared/db/scope.ts'
import type { WrappedKey } from '#shared/vault/kms.ts'
import { type DataKey, insertKey, type Purpose } from '#shared/vault/queries.ts'
import type { Sealed } from '#shared/vault/vault.ts'

const ids = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id)

/** The keys that are only opened with any more, the oldest first. */
export async function retiredKeys(sql: TenantSql, purpose: Purpose): Promise<string[]> {
  return ids(
    await sql<{ id: string }>`
      select id from app.data_keys
       where tenant_id = app.current_tenant() and purpose = ${purpose} and status = 'decrypt_only'
       order by retired_at, id`,
  )
}

/** Puts a new active key in the place of the tenant's, whose id it returns; null when there is none. One at a time. */
export async function replaceActiveKey(sql: TenantSql, purpose: Purpose, made: DataKey): Promise<string | null> {
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
  sql: TenantSql,
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
  sql: TenantSql,
  {
    accountId,
    keyId,
    secretVersion,
    sealed,
  }: { accountId: string; keyId: string; secretVersion: number; sealed: Sealed },
): Promise<boolean> {
  const resealed = await sql`
    update app.vendor_accounts set sealed_secret = ${sealed.bytes}, data_key_id = ${sealed.dataKeyId}
     where id = ${accountId} and data_key_id = ${keyId} and secret_version = ${secretVersion}
    returning id`
  return resealed.length > 0
}

/** Fails with a violation of a foreign key while anything is sealed under the key. */
export async function destroyKey(sql: TenantSql, keyId: string): Promise<void> {
  await sql`
    update app.data_keys set status = 'destroyed', wrapped_key = null, destroyed_at = now()
     where id = ${keyId} and status = 'decrypt_only'`
}

/** The keys that are wrapped by any other key of KMS. */
export async function keysWrappedByOthers(
  sql: TenantSql,
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
export async function replaceWrapping(sql: TenantSql, key: DataKey, by: WrappedKey): Promise<boolean> {
  const replaced = await sql`
    update app.data_keys set wrapped_key = ${by.wrapped}, kms_key_arn = ${by.kmsKeyArn}
     where id = ${key.id} and wrapped_key = ${key.wrapped}
    returning id`
  return replaced.length > 0
}

export async function eraseSecrets(sql: TenantSql): Promise<string[]> {
  return ids(
    await sql<{ id: string }>`
      update app.vendor_accounts
         set status = 'revoked', revoked_at = now(), sealed_secret = null, data_key_id = null
       where tenant_id = app.current_tenant() and status <> 'revoked'
      returning id`,
  )
}

export async function destroyAllKeys(sql: TenantSql): Promise<string[]> {
  return ids(
    await sql<{ id: string }>`
      update app.data_keys set status = 'destroyed', wrapped_key = null, destroyed_at = now()
       where tenant_id = app.current_tenant() and status <> 'destroyed'
      returning id`,
  )
}
