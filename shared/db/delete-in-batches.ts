import type { Sql } from '#shared/db/connect.ts'

/** Deletes up to `batch` rows in a transaction of its own. Returns one row that says how many. */
export type Deletion = (sql: Sql, batch: number) => Promise<{ readonly deleted: number }[]>

/** Small enough that a batch holds its locks for less than 100 ms. */
const BATCH = 200

/** Runs each deletion, batch by batch, until nothing is left or `shouldStop` returns true. Returns how many rows they deleted. */
export async function deleteInBatches(
  sql: Sql,
  deletions: readonly Deletion[],
  shouldStop: () => boolean,
): Promise<number> {
  let all = 0
  for (const deletion of deletions) {
    for (let gone = BATCH; gone === BATCH && !shouldStop(); all += gone) {
      const [row] = await deletion(sql, BATCH)
      gone = row?.deleted ?? 0
    }
  }
  return all
}
