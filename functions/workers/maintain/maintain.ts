import type { Sql } from '#shared/db/connect.ts'
import { deleteInBatches } from '#shared/db/delete-in-batches.ts'
import { untilFree } from '#shared/db/until-free.ts'
import { createPartitions, DELETIONS, WARNINGS } from './queries.ts'

const WHEN_BUSY = { tries: 3, pauseMs: 500 }

/**
 * Creates the audit log's partitions for today and the next three months. Then mails that API keys expire, and deletes what is older
 * than its period, until nothing is left or `shouldStop` returns true. Returns the names of those partitions, and how many rows it
 * deleted. Rejects after the deletions when other transactions kept the locks that a new partition needs.
 */
export async function maintain(
  sql: Sql,
  shouldStop: () => boolean,
): Promise<{ partitions: string[]; deleted: number }> {
  const [created] = await Promise.allSettled([untilFree(WHEN_BUSY, () => createPartitions(sql))])
  await deleteInBatches(sql, WARNINGS, shouldStop)
  const deleted = await deleteInBatches(sql, DELETIONS, shouldStop)
  if (created.status === 'rejected') throw created.reason
  return { partitions: created.value, deleted }
}
