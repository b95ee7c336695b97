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
 * order makes Postgres read an index in every case. Without it, Postgres may expect the rows at the beginning of the table, and
 * read all of it. Events are deleted after their jobs, and in their order: none before an older one. The subquery in parentheses is
 * one that Postgres cannot turn into a read of all jobs.
 */
export const DELETIONS: readonly ((sql: Sql, keptDays: number, batch: number) => Promise<object[]>)[] = [
  (sql, _keptDays, batch) => sql`
    select from generate_series(1, app.delete_old_sessions(${batch}::int))`,
  (sql, keptDays, batch) => sql`
    delete from app.tokens where id = any (array(
      select id from app.tokens
       where expires_at < now() - make_interval(days => ${keptDays}::int) order by expires_at limit ${batch}::int))
    returning id`,
  (sql, keptDays, batch) => sql`
    delete from app.jobs where id = any (array(
      select id from app.jobs
       where (completed_at is not null or dead_at is not null)
         and coalesce(completed_at, dead_at) < now() - make_interval(days => ${keptDays}::int)
       order by coalesce(completed_at, dead_at) limit ${batch}::int))
    returning id`,
  (sql, _keptDays, batch) => sql`
    with first_kept as (
      select place from (
        select xact, id, job_id, row_number() over (order by xact, id) as place
          from app.events order by xact, id limit ${batch}::int) as oldest
       where job_id is null or (select true from app.jobs j where j.id = oldest.job_id)
       order by xact, id limit 1
    ), gone as (
      delete from app.events where (xact, id) in (
        select xact, id from app.events order by xact, id limit coalesce((select place - 1 from first_kept), ${batch}::int))
      returning xact, id
    ), last as (
      select xact, id from gone order by xact desc, id desc limit 1
    ), kept as (
      update app.deleted_events d set xact = l.xact, id = l.id from last l where (d.xact, d.id) < (l.xact, l.id)
    )
    select id from gone`,
  (sql, _keptDays, batch) => sql`
    select from generate_series(1, app.delete_old_attempts(${batch}::int))`,
  (sql, _keptDays, batch) => sql`
    select from generate_series(1, app.delete_old_networks(${batch}::int))`,
  (sql, _keptDays, batch) => sql`
    select from generate_series(1, app.delete_old_replies(${batch}::int))`,
]
