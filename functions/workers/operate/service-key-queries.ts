import type { Sql } from '#shared/db/connect.ts'
import { SERVICE_SCOPES, type ServiceScope } from '#shared/identity/service-key.ts'
import type { Instruction } from './instruction.ts'

/** Locks the keys of a service, also against a first one. Returns the scopes of the newest valid one, or null when none is valid. */
export async function lockValidKeys(sql: Sql, name: string): Promise<readonly ServiceScope[] | null> {
  await sql`select pg_advisory_xact_lock(hashtextextended('service keys of ' || ${name}::text, 0))`
  const [newest] = await sql<{ scopes: string }>`
    select array_to_string(scopes, ',') as scopes from app.service_keys
     where name = ${name} and revoked_at is null and (expires_at is null or expires_at > now())
     order by created_at desc limit 1`
  return newest === undefined ? null : SERVICE_SCOPES.filter((scope) => newest.scopes.split(',').includes(scope))
}

interface NewKey {
  readonly name: string
  readonly hash: Buffer
  readonly scopes: readonly ServiceScope[]
  readonly instruction: Instruction
}

/** Stores a key. */
export async function insertKey(
  sql: Sql,
  { name, hash, scopes, instruction: { operator, reason } }: NewKey,
): Promise<void> {
  await sql`
    insert into app.service_keys (name, key_hash, scopes, created_by, created_reason)
    values (${name}, ${hash}, string_to_array(${scopes.join()}, ','), ${operator}, ${reason})`
}

/** Lets the keys of a service expire after the overlap, or earlier if they would anyway. Returns when the last one does. */
export async function expireKeys(
  sql: Sql,
  name: string,
  overlapHours: number,
  { operator, reason }: Instruction,
): Promise<Date> {
  const rows = await sql<{ expires_at: string }>`
    update app.service_keys
       set expires_at = least(expires_at, now() + make_interval(hours => ${overlapHours}::int)),
           ended_by = ${operator}, ended_reason = ${reason}
     where name = ${name} and revoked_at is null and (expires_at is null or expires_at > now())
    returning expires_at`
  return new Date(Math.max(...rows.map(({ expires_at }) => Date.parse(expires_at))))
}

/** Revokes the keys of a service. Returns how many were valid. */
export async function revokeKeys(sql: Sql, name: string, { operator, reason }: Instruction): Promise<number> {
  const revoked = await sql`
    update app.service_keys set revoked_at = now(), ended_by = ${operator}, ended_reason = ${reason}
     where name = ${name} and revoked_at is null and (expires_at is null or expires_at > now())
    returning id`
  return revoked.length
}

/** Returns every key without its hash, the newest first. */
export const listKeys = (sql: Sql): Promise<object[]> => sql`
  select name, id, to_json(scopes) as scopes, created_at, created_by, created_reason, used_at, expires_at, revoked_at, ended_by, ended_reason,
         case when revoked_at is not null then 'revoked' when expires_at <= now() then 'expired' else 'valid' end as status
    from app.service_keys order by created_at desc, id`
