import type { Sql } from '#shared/db/connect.ts'
import { deleteInBatches } from '#shared/db/delete-in-batches.ts'
import { defineWorker } from '#shared/lambda/worker.ts'

export const worker = defineWorker({
  name: 'delete-old-tags',
  needs: ['database:worker'],
  everySeconds: 86_400,
  timeoutSeconds: 120,
})

/** Deletes the tags of all tenants that are older than 400 days, until none is left or `shouldStop` returns true. Returns how many. */
export const deleteOldTags = (sql: Sql, shouldStop: () => boolean): Promise<number> =>
  deleteInBatches(sql, [(run, batch) => run`select app.delete_old_tags(${batch}) as deleted`], shouldStop)
