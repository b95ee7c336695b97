import type { Sql } from '#shared/db/connect.ts'

/** Creates the audit log's partitions for today and the next three months. Returns their names. */
export async function createPartitions(sql: Sql): Promise<string[]> {
  const partitions = await sql<{ name: string }>`
    select distinct app.create_audit_partition((day at time zone 'UTC')::date)::text as name
      from unnest(array[now(), now() + interval '3 months']) as day order by name`
  return partitions.map(({ name }) => name)
}

/**
 * Each deletes at most `batch` rows that nobody needs any more, in a transaction of its own, and returns one row for each. The
 * functions decide what is old: no login may delete anything else. Events are deleted after their jobs.
 */
export const DELETIONS: readonly ((sql: Sql, batch: number) => Promise<object[]>)[] = [
  (sql, batch) => sql`select from generate_series(1, app.delete_old_sessions(${batch}::int))`,
  (sql, batch) => sql`select from generate_series(1, app.delete_old_tokens(${batch}::int))`,
  (sql, batch) => sql`select from generate_series(1, app.delete_old_jobs(${batch}::int))`,
  (sql, batch) => sql`select from generate_series(1, app.delete_old_events(${batch}::int))`,
  (sql, batch) => sql`select from generate_series(1, app.delete_old_attempts(${batch}::int))`,
  (sql, batch) => sql`select from generate_series(1, app.delete_old_networks(${batch}::int))`,
  (sql, batch) => sql`select from generate_series(1, app.delete_old_replies(${batch}::int))`,
]
