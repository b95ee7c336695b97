import type { Sql } from '#shared/db/connect.ts'
import { JOB_KINDS } from '#shared/queue/kinds.ts'

interface QueueRow {
  readonly kind: string
  readonly waiting: number
  readonly oldest_seconds: number
  readonly dead: number
  readonly undone_seconds: number
  /** Audit entries whose year has no partition; the same in every row. */
  readonly unpartitioned: number
}

/**
 * Measures the queue by kind, and the audit entries that have no partition, in one statement. An event without a job counts as
 * one. An empty queue is measured as 0, so that a missing value always means a fault. It reads the indexes of live jobs, of those
 * that ended in the last hour and of events without a job. Nobody may read the rows of the audit log, so it takes the statistics.
 */
export const measureQueue = (sql: Sql): Promise<QueueRow[]> =>
  sql<QueueRow>`
    with job as (
      select kind, run_at, leased_until, completed_at, dead_at, created_at from app.jobs
      union all
      select 'event', occurred_at, null, null, null, occurred_at from app.events where job_id is null
    ), due as (
      select kind, count(*)::int as waiting, extract(epoch from now() - min(run_at))::float8 as oldest_seconds
        from job
       where completed_at is null and dead_at is null and run_at <= now() and (leased_until is null or leased_until < now())
       group by kind
    ), dead as (
      select kind, count(*)::int as dead
        from job
       where (completed_at is not null or dead_at is not null)
         and coalesce(completed_at, dead_at) > now() - interval '1 hour' and dead_at is not null
       group by kind
    ), undone as (
      select kind, greatest(0, extract(epoch from now() - min(created_at)))::float8 as undone_seconds
        from job where completed_at is null and dead_at is null
       group by kind
    )
    select kind, coalesce(waiting, 0) as waiting, coalesce(oldest_seconds, 0) as oldest_seconds, coalesce(dead, 0) as dead,
           coalesce(undone_seconds, 0) as undone_seconds,
           pg_stat_get_live_tuples('app.audit_log_default'::regclass)::int as unpartitioned
      from unnest(string_to_array(${Object.keys(JOB_KINDS).join()}, ',')) as known (kind)
      full join due using (kind)
      full join dead using (kind)
      full join undone using (kind)`
