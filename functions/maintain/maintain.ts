import type { Sql } from '#shared/db/connect.ts'
import { createPartitions, DELETIONS } from './queries.ts'

/** Small enough that a batch holds its locks for less than 100 ms. */
const BATCH = 200
const KEPT_DAYS = 30

/**
 * Creates the audit log's partitions for today and the next three months. Then deletes, batch by batch, until nothing is left or
 * `shouldStop` returns true: the sessions, tokens, jobs and events that ended at least 30 days ago, the networks that nobody has
 * signed in from for 30 days, and rate limits of previous days. Returns the names of those
 * partitions, and how many rows it deleted.
 */
export async function maintain(
  sql: Sql,
  shouldStop: () => boolean,
): Promise<{ partitions: string[]; deleted: number }> {
  const partitions = await createPartitions(sql)
  let deleted = 0
  for (const deleteBatch of DELETIONS) {
    for (let gone = BATCH; gone === BATCH && !shouldStop(); deleted += gone) {
      gone = (await deleteBatch(sql, KEPT_DAYS, BATCH)).length
    }
  }
  return { partitions, deleted }
}
