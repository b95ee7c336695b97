import type { Sql } from '#shared/db/connect.ts'
import { recordMetric } from '#shared/log.ts'
import { JOB_KINDS, NO_OP } from '#shared/queue/kinds.ts'

interface QueueRow {
  readonly kind: string
  readonly waiting: number
  readonly oldest_seconds: number
  readonly dead: number
}

/** Every kind that a worker takes. An empty queue is measured as 0, so that a missing value always means a fault. */
export const KINDS: readonly string[] = Object.keys(JOB_KINDS).filter((kind) => kind !== NO_OP)

/**
 * Measures the queue by kind, and what lies in the audit log outside of its partitions: one statement. It reads by the
 * indexes of live and of ended jobs, of the latter those of the last hour; of the audit log the statistics alone, since
 * nobody may read its rows.
 */
export async function measure(sql: Sql): Promise<void> {
  const rows = await sql<QueueRow & { readonly unpartitioned: number }>`
    with due as (
      select kind, count(*)::int as waiting, extract(epoch from now() - min(run_at))::float8 as oldest_seconds
        from app.jobs
       where completed_at is null and dead_at is null and kind <> ${NO_OP}
         and run_at <= now() and (leased_until is null or leased_until < now())
       group by kind
    ), dead as (
      select kind, count(*)::int as dead
        from app.jobs
       where (completed_at is not null or dead_at is not null)
         and coalesce(completed_at, dead_at) > now() - interval '1 hour' and dead_at is not null
       group by kind
    )
    select kind, coalesce(waiting, 0) as waiting, coalesce(oldest_seconds, 0) as oldest_seconds, coalesce(dead, 0) as dead,
           pg_stat_get_live_tuples('app.audit_log_default'::regclass)::int as unpartitioned
      from unnest(string_to_array(${KINDS.join()}, ',')) as known (kind)
      full join due using (kind)
      full join dead using (kind)`
  for (const { kind, waiting, oldest_seconds, dead } of rows) {
    recordMetric('QueueWaiting', waiting, kind)
    recordMetric('QueueOldest', oldest_seconds, kind)
    recordMetric('QueueDead', dead, kind)
  }
  recordMetric('AuditRowsWithoutPartition', rows[0]?.unpartitioned ?? 0)
}
