import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '#shared/db/connect.ts'
import { NothingCommitted } from '#shared/db/failure.ts'
import { describeError, log } from '#shared/base/log.ts'
import { countMetric } from '#shared/base/metrics.ts'

// Revocations are answered within 2 s. Writes in progress have this long to end by themselves.
const PATIENCE_MS = 700
const AGAIN_MS = 100
// Another revocation may end this one, if it waited for it for a second. A new try is then done before the 2 s are over.
const LAST_TRY_MS = 1500

/**
 * Runs a revocation. If it takes long, ends the connections that block it, from a second connection, until it is done
 * (app.end_blockers). If it was ended itself before it committed anything, runs it again. Rejects as `revoke` does.
 */
export async function withoutVeto<T>(database: Pick<Database, 'besides'>, revoke: () => Promise<T>): Promise<T> {
  const done = new AbortController()
  const watch = watching(database, done.signal).catch((error: unknown) => {
    if (!done.signal.aborted)
      log.error('could not end what may block a revocation', {
        error: describeError(error),
      })
  })
  try {
    return await untilCommitted(revoke, performance.now() + LAST_TRY_MS)
  } finally {
    done.abort()
    void watch
  }
}

/** Runs a revocation again while it was ended before it committed anything, until `lastTry` by the clock of the process. */
async function untilCommitted<T>(revoke: () => Promise<T>, lastTry: number): Promise<T> {
  try {
    return await revoke()
  } catch (error) {
    if (!(error instanceof NothingCommitted) || performance.now() > lastTry) throw error
    return untilCommitted(revoke, lastTry)
  }
}

async function watching({ besides }: Pick<Database, 'besides'>, signal: AbortSignal): Promise<void> {
  await delay(PATIENCE_MS, undefined, { signal })
  await besides(async (run) => {
    while (!signal.aborted) {
      const ended = await run<{ pid: number; login: string }>`select pid, login from app.end_blockers()`
      for (const { pid, login } of ended) {
        log.warn('ended a connection that blocked a revocation', { pid, login })
        countMetric('RevocationBlockerEnded')
      }
      await delay(AGAIN_MS, undefined, { signal })
    }
  })
}
