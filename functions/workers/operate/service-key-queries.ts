import type { Sql } from '#shared/db/connect.ts'
import type { Instruction } from './instruction.ts'

/** Locks the keys of a service, also against a first one. Returns how many are valid. */
export async function lockValidKeys(sql: Sql, name: string): Promise<number> {
  await sql`select pg_advisory_xact_lock(hashtextextended('service keys of ' || ${name}::text, 0))`
  const valid = await sql`
    select id from app.service_keys
     where name = ${name} and revoked_at is null and (expires_at is null or expires_at > now())`
  return valid.length
}

/** Stores a key. */
export async function insertKey(
  sql: Sql,
  { name, hash, instruction: { operator, reason } }: { name: string; hash: Buffer; instruction: Instruction },
): Promise<void> {
  await sql`
    insert into app.service_keys (name, key_hash, created_by, created_reason) values (${name}, ${hash}, ${operator}, ${reason})`
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
  select name, id, created_at, created_by, created_reason, used_at, expires_at, revoked_at, ended_by, ended_reason,
         case when revoked_at is not null then 'revoked' when expires_at <= now() then 'expired' else 'valid' end as status
    from app.service_keys order by created_at desc, id`
