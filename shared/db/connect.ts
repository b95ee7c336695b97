import { deadlineFromNow, responseTo, type Connection, openConnection } from '#shared/db/connection.ts'
import type { Run, SqlValue } from '#shared/db/run.ts'
import { FIRST_RESPONSE_MS, openPool, wasIdleLong } from '#shared/db/pool.ts'
import { CLEAN, type TransactionMode, runIn } from '#shared/db/run-in.ts'
import type { InvokedJob } from '#shared/base/needs.ts'
import { type ReadLogin, type TlsOptions, trustFor } from '#shared/db/login.ts'

export interface Sql extends Run {
  /**
   * Returns the same tag; after the commit of its statement, `job` is invoked, once for each transaction. Throws when the
   * function does not name `invoke:JOB` among its needs. A rehearsal makes the call and starts nothing.
   */
  readonly invoking: (job: InvokedJob, mode?: 'rehearsal') => Sql
}

/** The jobs that a function may invoke after a commit, with the call that does it and never rejects. */
export type Invocations = ReadonlyMap<InvokedJob, (mode?: 'rehearsal') => Promise<void>>

/**
 * Runs one statement that calls functions of the database and nothing else. Its text is fixed, so it leaves nothing on its
 * connection, which is not cleaned: one message less makes every request faster. It runs at most once, and commits by itself.
 * It takes one round trip, and a second one on a connection that was idle for a minute.
 */
export interface Call extends Run {
  /**
   * For a call that may run twice. It runs again, on a new connection, if one that was idle for a minute is lost before it
   * responds. It never takes a second round trip for an idle connection that lives.
   */
  readonly repeatable: Run
  /**
   * Sends the commit with the statement, in one round trip. `rows` resolves before the commit, so that other work runs at
   * the same time. `committed` resolves after it, and rejects without one: confirm nothing to a client before it.
   */
  readonly committing: <Row extends object>(
    text: TemplateStringsArray,
    ...values: readonly SqlValue[]
  ) => { readonly rows: Promise<Row[]>; readonly committed: Promise<void> }
  /** Invokes a job after a call that committed, as `invoking` of `Sql` does. */
  readonly invoke: (job: InvokedJob, mode?: 'rehearsal') => Promise<void>
}

/**
 * The database of one process. Code that serves requests uses `read`, `write` and `call`; workers use `sql` too.
 *
 * In a transaction, BEGIN travels with the first statement, without a round trip of its own. After the end, or after the
 * connection was lost, its `sql` rejects every statement, so that none runs outside of it. The message that ends the
 * transaction also cleans the connection: see CLEAN.
 */
export interface Database {
  /**
   * Runs `work` in one transaction that changes nothing. It takes one round trip for each statement that is awaited. Nobody
   * waits for its end but the next use of its connection, which takes a new connection if that end failed.
   */
  readonly read: <T>(work: (sql: Sql) => Promise<T>) => Promise<T>
  /**
   * Runs `work` in one transaction. Commits when `work` resolves; rolls back when it rejects or one of its statements
   * failed. It takes one round trip for each statement that is awaited, and one for the commit.
   */
  readonly write: <T>(work: (sql: Sql) => Promise<T>) => Promise<T>
  readonly call: Call
  /** Runs each statement in a transaction of its own and cleans the connection, in one round trip. */
  readonly sql: Sql
  /** Opens a connection besides the pool, runs `work` with it, and closes it. */
  readonly besides: <T>(work: (run: Run) => Promise<T>) => Promise<T>
  close(): Promise<void>
}

/** How a process connects. */
export interface ConnectOptions extends TlsOptions {
  readonly connections: number
  readonly prepare: boolean
}

/**
 * Returns a database that opens up to `connections` connections, each when it is first needed. When a connection is lost,
 * exactly the work that used it fails. `prepare: false` is for RDS Proxy or a transaction pooler, which named statements
 * would pin; it costs each statement with values a second round trip.
 */
export function connect(readLogin: ReadLogin, options: ConnectOptions, invocations: Invocations = new Map()): Database {
  const trust = trustFor(options)
  const pause = { until: 0 }
  const open = (onClose: () => void): Connection =>
    openConnection(readLogin, { prepare: options.prepare, trust, pause, onClose })
  const { withPooled, withConnection, end } = openPool(options.connections, open)

  const invocation = (job: InvokedJob, mode?: 'rehearsal'): (() => Promise<void>) => {
    const invoke = invocations.get(job)
    if (invoke === undefined) throw new Error(`This function does not name invoke:${job} among its needs`)
    return mode === undefined ? invoke : () => invoke(mode)
  }

  const transaction = async <T>(mode: TransactionMode, work: (sql: Sql) => Promise<T>): Promise<T> => {
    const afterCommit = new Set<() => Promise<void>>()
    const inTransaction = (run: Run): Promise<T> => {
      const invoking: Sql['invoking'] = (job, mode) => {
        afterCommit.add(invocation(job, mode))
        return sql
      }
      const sql = Object.assign(run, { invoking })
      return work(sql)
    }
    const result = await withConnection(true, (lent, deadline) => runIn(lent, { mode, deadline }, inTransaction))
    await Promise.all([...afterCommit].map((invoke) => invoke()))
    return result
  }

  const repeatable: Run = <Row extends object>(text: TemplateStringsArray, ...values: readonly SqlValue[]) =>
    withPooled(false, async (pooled, deadline) => {
      const { connection } = pooled
      const responseBy = async (until: number): Promise<Row[]> => {
        const client = await pooled.connection.ready(deadline)
        return responseTo(pooled.connection, client<Row[]>(text, ...values), until)
      }
      if (!wasIdleLong(pooled)) return responseBy(deadline)
      try {
        return await responseBy(Math.min(deadline, Date.now() + FIRST_RESPONSE_MS))
      } catch (error) {
        if (!connection.isLost()) throw error
        return responseBy(deadline)
      }
    })
  const atMostOnce: Run = <Row extends object>(text: TemplateStringsArray, ...values: readonly SqlValue[]) =>
    withConnection(false, ({ connection, client }, deadline) =>
      responseTo(connection, client<Row[]>(text, ...values), deadline),
    )
  const statement: Run = <Row extends object>(text: TemplateStringsArray, ...values: readonly SqlValue[]) =>
    withConnection(false, async ({ connection, client }, deadline) => {
      const response = responseTo(connection, client<Row[]>(text, ...values), deadline)
      response.catch(() => {})
      await responseTo(connection, client.unsafe(CLEAN), deadline)
      return response
    })
  const committing: Call['committing'] = <Row extends object>(
    text: TemplateStringsArray,
    ...values: readonly SqlValue[]
  ) => {
    const { promise: rows, resolve, reject } = Promise.withResolvers<Row[]>()
    // A caller may wait for the commit alone.
    rows.catch(() => {})
    const committed = withConnection(true, async ({ connection, client }, deadline) => {
      // If it fails alone, the statement commits itself.
      client.unsafe('begin').catch(() => {})
      const response = client<Row[]>(text, ...values)
      response.then(resolve, reject)
      await responseTo(connection, Promise.all([response, client.unsafe(`commit; ${CLEAN}`)]), deadline)
    })
    committed.catch(reject)
    return { rows, committed }
  }
  const invoking: Sql['invoking'] = (job, mode) => {
    const invoke = invocation(job, mode)
    const run: Run = async <Row extends object>(text: TemplateStringsArray, ...values: readonly SqlValue[]) => {
      const rows = await statement<Row>(text, ...values)
      await invoke()
      return rows
    }
    return Object.assign(run, { invoking })
  }

  return {
    read: (work) => transaction('read only', work),
    write: (work) => transaction('read write', work),
    call: Object.assign(atMostOnce, {
      repeatable,
      committing,
      invoke: (job: InvokedJob, mode?: 'rehearsal') => invocation(job, mode)(),
    }),
    sql: Object.assign(statement, { invoking }),
    besides: async (work) => {
      const connection = open(() => {})
      try {
        const client = await connection.ready(deadlineFromNow())
        return await work(<Row extends object>(text: TemplateStringsArray, ...values: readonly SqlValue[]) =>
          responseTo(connection, client<Row[]>(text, ...values), deadlineFromNow()),
        )
      } finally {
        await connection.end()
      }
    },
    close: end,
  }
}
