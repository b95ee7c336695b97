import type { Sql } from '#shared/db/connect.ts'
import { untilFree } from '#shared/db/until-free.ts'
import { createPartitions, DELETIONS } from './queries.ts'

/** Small enough that a batch holds its locks for less than 100 ms. */
const BATCH = 200
const WHEN_BUSY = { tries: 3, pauseMs: 500 }

/**
 * Creates the audit log's partitions for today and the next three months. Then deletes, batch by batch, until nothing is left or
 * `shouldStop` returns true: the sessions, tokens, jobs and events that ended at least 30 days ago, the networks that nobody has
 * signed in from for 30 days, and rate limits of previous days. Returns the names of those
 * partitions, and how many rows it deleted. Rejects after the deletions when other transactions kept the locks that a new partition needs.
 */
export async function maintain(
  sql: Sql,
  shouldStop: () => boolean,
): Promise<{ partitions: string[]; deleted: number }> {
  const [created] = await Promise.allSettled([untilFree(WHEN_BUSY, () => createPartitions(sql))])
  let deleted = 0
  for (const deleteBatch of DELETIONS) {
    for (let gone = BATCH; gone === BATCH && !shouldStop(); deleted += gone) {
      gone = (await deleteBatch(sql, BATCH)).length
    }
  }
  if (created.status === 'rejected') throw created.reason
  return { partitions: created.value, deleted }
}
