import type { Sql } from '#shared/db/connect.ts'
import { recordMetric } from '#shared/base/metrics.ts'
import { measureQueue } from './queries.ts'

/** Records the state of the queue and of the audit log as metrics. */
export async function measure(sql: Sql): Promise<void> {
  const rows = await measureQueue(sql)
  for (const { kind, waiting, oldest_seconds, dead, undone_seconds } of rows) {
    recordMetric('QueueWaiting', waiting, kind)
    recordMetric('QueueOldest', oldest_seconds, kind)
    recordMetric('QueueDead', dead, kind)
    recordMetric('QueueUndone', undone_seconds, kind)
  }
  recordMetric('AuditRowsWithoutPartition', rows[0]?.unpartitioned ?? 0)
}
