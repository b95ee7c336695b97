import type { Sql } from '#shared/db/connect.ts'
import { NO_OP } from '#shared/queue/kinds.ts'

const MONTHS_AHEAD = 3
const BATCH = 1000
const KEPT_DAYS = 30

/**
 * Makes the audit log's partitions of this month and the three to come, and deletes what has ended a month ago or more:
 * sessions, tokens, jobs; and idle jobs, and yesterday's rate limits. In batches, each a transaction of its own, until
 * nothing is left or `enough` says so. Returns how many rows went.
 */
export async function maintain(sql: Sql, shouldStop: () => boolean): Promise<{ partitions: number; deleted: number }> {
  const partitions = await sql`
    select app.create_audit_partition((date_trunc('month', now()) + make_interval(months => m))::date)
      from generate_series(0, ${MONTHS_AHEAD}::int) as m`
  const batches = [
    () => sql`
      delete from app.sessions where id in (
        select id from app.sessions
         where absolute_expires_at < now() - make_interval(days => ${KEPT_DAYS}::int) limit ${BATCH}::int)
      returning id`,
    () => sql`
      delete from app.tokens where id in (
        select id from app.tokens where expires_at < now() - make_interval(days => ${KEPT_DAYS}::int) limit ${BATCH}::int)
      returning id`,
    () => sql`
      delete from app.jobs where id in (
        select id from app.jobs
         where (completed_at is not null or dead_at is not null)
           and coalesce(completed_at, dead_at) < now() - make_interval(days => ${KEPT_DAYS}::int) limit ${BATCH}::int)
      returning id`,
    () => sql`
      delete from app.jobs where id in (
        select id from app.jobs
         where kind = ${NO_OP} and run_at < now() and completed_at is null and dead_at is null limit ${BATCH}::int)
      returning id`,
    () => sql`
      delete from app.rate_limits where (key, window_start) in (
        select key, window_start from app.rate_limits where window_start < now() - interval '2 days' limit ${BATCH}::int)
      returning 1 as gone`,
  ]
  let deleted = 0
  for (const batch of batches) {
    for (let gone = BATCH; gone === BATCH && !shouldStop(); deleted += gone) gone = (await batch()).length
  }
  return { partitions: partitions.length, deleted }
}
