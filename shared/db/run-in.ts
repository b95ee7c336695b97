import type postgres from 'postgres'
import { type Connection, deadlineFromNow, responseTo } from '#shared/db/connection.ts'
import { DatabaseUnavailable, isUnavailable, NothingCommitted } from '#shared/db/failure.ts'
import type { Run, SqlValue } from '#shared/db/run.ts'
import { describeError, log } from '#shared/base/log.ts'

/**
 * Removes what a statement left on its connection, or ends the connection (migration 0001): the next caller never runs an
 * injected PREPARE, cursor, setting or open transaction of the previous one. It travels in the message that ends a use of the
 * connection, so it costs no round trip. That message is of the simple protocol: no prepared statement can take its place.
 */
export const CLEAN = 'select app.clean()'

export type TransactionMode = 'read only' | 'read write'

/** What the end of a transaction returns. */
export type Committed = readonly { readonly command?: string }[]

/** A connection for one use. `endLater` lets the next use of the connection wait for the end of this one. */
export interface Lent {
  readonly connection: Connection
  readonly client: postgres.Sql
  readonly endLater: (commit: PromiseLike<Committed>) => void
}

/** Closes the connection when a read did not end with a commit. Never rejects. */
export async function confirmEnd(connection: Connection, commit: PromiseLike<Committed>): Promise<void> {
  try {
    const [done] = await commit
    if (done?.command !== 'COMMIT') throw new Error('a statement failed after its read had returned')
  } catch (error) {
    log.error('a read did not end with a commit: the connection was closed', { error: describeError(error) })
    connection.discard()
  }
}

/**
 * Runs `work` in a transaction of this connection. Throws NothingCommitted when the connection was lost before COMMIT was
 * sent, and DatabaseUnavailable when it was lost before the server had confirmed it.
 */
export async function runIn<T>(
  { connection, client, endLater }: Lent,
  { mode, deadline }: { mode: TransactionMode; deadline: number },
  work: (run: Run) => Promise<T>,
): Promise<T> {
  let refusal: unknown = null
  let isCommitting = false
  const attempt = async <Result>(query: () => PromiseLike<Result>, until: number): Promise<Result> => {
    if (connection.isLost()) refusal ??= new DatabaseUnavailable('the connection was lost')
    if (refusal !== null) throw refusal
    try {
      return await responseTo(connection, query(), until)
    } catch (error) {
      refusal ??= error
      throw error
    }
  }
  const begun = attempt(() => client.unsafe(`begin ${mode}`), deadline)
  begun.catch(() => {})
  try {
    const result = await work(<Row extends object>(text: TemplateStringsArray, ...values: readonly SqlValue[]) =>
      attempt(() => client<Row[]>(text, ...values), deadlineFromNow()),
    )
    const commit = (): PromiseLike<Committed> => client.unsafe(`commit; ${CLEAN}`)
    // A read has nothing to lose, so its response leaves before the end is confirmed.
    if (mode === 'read only' && refusal === null && !connection.isLost()) {
      endLater(commit())
      return result
    }
    isCommitting = true
    const [done] = await attempt(commit, deadlineFromNow())
    if (done?.command !== 'COMMIT') throw new Error('the transaction had failed and was rolled back')
    return result
  } catch (error) {
    if (connection.isLost()) {
      if (!isUnavailable(error)) throw error
      throw isCommitting
        ? new DatabaseUnavailable('the commit was not confirmed', { cause: error })
        : new NothingCommitted('the connection was lost before the commit', { cause: error })
    }
    await responseTo(connection, client.unsafe(`rollback; ${CLEAN}`), deadlineFromNow()).catch(connection.discard)
    throw error
  } finally {
    refusal ??= new Error('a statement was run after the end of its transaction')
  }
}
