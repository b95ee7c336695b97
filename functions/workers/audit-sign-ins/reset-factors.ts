import type { Database } from '#shared/db/connect.ts'
import { drain } from '#shared/queue/drain.ts'

const CONCURRENCY = 2
const LEASE_SECONDS = 60
// Over more than a day: a reset waits for the database, and for nothing else.
const ATTEMPTS = 60

/** Runs the resets of second factors whose time has come, until none is left or `shouldStop` returns true. Returns how many took effect. */
export const resetFactors = (database: Database, shouldStop: () => boolean): Promise<number> =>
  drain(
    database,
    {
      kind: 'factor-reset',
      concurrency: CONCURRENCY,
      leaseSeconds: LEASE_SECONDS,
      attempts: ATTEMPTS,
      run: async ({ id, lease_token: lease }) => {
        const [row] = await database.sql<{ done: boolean }>`select app.run_factor_reset(${id}, ${lease}) as done`
        return row?.done ?? false
      },
      isFinal: () => false,
    },
    shouldStop,
  )
