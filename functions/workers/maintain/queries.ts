import type { Sql } from '#shared/db/connect.ts'
import type { Deletion } from '#shared/db/delete-in-batches.ts'

/** Creates the audit log's partitions for today and the next three months. Returns their names. */
export async function createPartitions(sql: Sql): Promise<string[]> {
  const partitions = await sql<{ name: string }>`
    select distinct app.create_audit_partition((day at time zone 'UTC')::date)::text as name
      from unnest(array[now(), now() + interval '3 months']) as day order by name`
  return partitions.map(({ name }) => name)
}

/** Mails the people of API keys that expire soon. Returns the number of those keys. */
export const WARNINGS: readonly Deletion[] = [
  (sql, batch) => sql`select app.warn_of_expiring_keys(${batch}) as deleted`,
]

/** The functions of the database decide what is old: no login may delete anything else. Events are deleted after their jobs. */
export const DELETIONS: readonly Deletion[] = [
  (sql, batch) => sql`select app.delete_old_sessions(${batch}) as deleted`,
  (sql, batch) => sql`select app.delete_old_sign_ins(${batch}) as deleted`,
  (sql, batch) => sql`select app.delete_old_drafts(${batch}) as deleted`,
  (sql, batch) => sql`select app.delete_old_resets(${batch}) as deleted`,
  (sql, batch) => sql`select app.delete_old_tokens(${batch}) as deleted`,
  (sql, batch) => sql`select app.delete_old_jobs(${batch}) as deleted`,
  (sql, batch) => sql`select app.delete_old_events(${batch}) as deleted`,
  (sql, batch) => sql`select app.delete_old_attempts(${batch}) as deleted`,
  (sql, batch) => sql`select app.delete_old_networks(${batch}) as deleted`,
  (sql, batch) => sql`select app.delete_old_replies(${batch}) as deleted`,
]
