import type { Database } from '#shared/db/connect.ts'
import { defineWorker } from '#shared/lambda/worker.ts'
import { drain } from '#shared/queue/drain.ts'
import { proofOfLease } from '#shared/queue/queries.ts'

export const worker = defineWorker({
  name: 'count-words',
  needs: ['database:worker'],
  everySeconds: 60,
  timeoutSeconds: 30,
})

/** Counts the words of each new tag, until no job is due or `shouldStop` returns true. Returns how many it counted. */
export const countWords = (database: Database, shouldStop: () => boolean): Promise<number> =>
  drain(
    database,
    {
      kind: 'count-words',
      concurrency: 5,
      leaseSeconds: 60,
      attempts: 10,
      async run(leased) {
        await proofOfLease(leased).write(
          database,
          (sql) => sql`
            update app.tags set words = regexp_count(name, '\\S+')
             where tenant_id = app.current_tenant() and id = ${leased.payload.tag_id}`,
        )
        return true
      },
      isFinal: () => false,
    },
    shouldStop,
  )
