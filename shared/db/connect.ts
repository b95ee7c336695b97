import type postgres from 'postgres'
import { DatabaseUnavailable } from '#shared/db/failure.ts'
import { RESPONSE_TIMEOUT_MS, responseTo, type Connection, openConnection } from '#shared/db/connection.ts'
import { recordMetric } from '#shared/metrics.ts'
import type { InvokedJob } from '#shared/needs.ts'
import { type ReadLogin, type TlsOptions, trustFor } from '#shared/db/login.ts'

/** A value in a statement. Values are sent as parameters, never as text of the statement. */
export type SqlValue = string | number | boolean | Date | Uint8Array | null

/**
 * Runs one statement immediately and returns its rows, whose type is named at the tag. Throws the PostgresError of the
 * server; without a response, DatabaseUnavailable or the error of the socket.
 */
export type Run = <Row extends object>(text: TemplateStringsArray, ...values: readonly SqlValue[]) => Promise<Row[]>

export interface Sql extends Run {
  /**
   * Returns the same tag; after the commit of its statement, `job` is invoked, once for each transaction. Throws when the
   * function does not name `invoke:JOB` among its needs. A rehearsal makes the call and starts nothing.
   */
  readonly invoking: (job: InvokedJob, mode?: 'rehearsal') => Sql
}

/** The jobs that a function may invoke after a commit, with the call that does it and never rejects. */
export type Invocations = ReadonlyMap<InvokedJob, (mode?: 'rehearsal') => Promise<void>>

export type TransactionMode = 'read only' | 'read write'

export interface Database {
  /** Runs each statement in a transaction of its own. */
  readonly sql: Sql
  /**
   * Runs a statement as `sql` does, and does not clean the connection after it. For the session check alone: its text is
   * fixed and calls one function, so it leaves nothing behind, and one message less makes every request faster. It may run
   * twice: once more on a new connection, if a connection that was idle for a minute is lost before it responds.
   */
  readonly uncleaned: Run
  /**
   * Runs `work` in one transaction. Commits when `work` resolves; rolls back when it rejects or one of its statements failed.
   * BEGIN travels with the first statement, without a round trip of its own. After the end, or after the connection was
   * lost, the transaction's `sql` rejects every statement, so that none runs outside the transaction.
   * The message that ends the transaction also cleans the connection: see CLEAN.
   */
  transaction<T>(mode: TransactionMode, work: (sql: Sql) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** A connection of the pool. One transaction has it alone; single statements share it and do not wait for each other's responses. */
interface PooledConnection {
  connection: Connection
  inTransaction: boolean
  /** How many single statements are under way. */
  statements: number
  /** When its last use ended, in milliseconds since the epoch. */
  usedAt: number
}

/** How a process connects. */
export interface ConnectOptions extends TlsOptions {
  readonly connections: number
  readonly prepare: boolean
}

/**
 * Removes what a statement left on its connection, or ends the connection (migration 0001): the next caller never runs an
 * injected PREPARE, cursor, setting or open transaction of the previous one. It travels in the message that ends a use of the
 * connection, so it costs no round trip. That message is of the simple protocol: no prepared statement can take its place.
 */
const CLEAN = 'select app.clean()'

// Lambda freezes an instance between requests, and a network may forget an idle connection without a message to either end
// (AWS documents 350 s for some of its own). The first statement would wait in vain until its deadline.
const LONG_IDLE_MS = 60_000
const FIRST_RESPONSE_MS = 400

const wasIdleLong = ({ usedAt }: PooledConnection): boolean => Date.now() - usedAt > LONG_IDLE_MS

const deadlineFromNow = (): number => Date.now() + RESPONSE_TIMEOUT_MS

/**
 * Returns a database that opens up to `connections` connections, each when it is first needed. When a connection is lost,
 * exactly the work that used it fails. `prepare: false` is for RDS Proxy or a transaction pooler, which named statements
 * would pin; it costs each statement with values a second round trip.
 */
export function connect(readLogin: ReadLogin, options: ConnectOptions, invocations: Invocations = new Map()): Database {
  const trust = trustFor(options)
  const pool = Array.from({ length: options.connections }, (): PooledConnection => {
    const open = (): Connection =>
      openConnection(readLogin, {
        prepare: options.prepare,
        trust,
        onClose: () => {
          pooled.connection = open()
        },
      })
    const pooled: PooledConnection = { connection: open(), inTransaction: false, statements: 0, usedAt: Date.now() }
    return pooled
  })
  const waiting: { readonly alone: boolean; readonly resolve: (pooled: PooledConnection) => void }[] = []

  /** Takes the connection with the fewest statements; returns undefined when every one is in use. */
  const take = (alone: boolean): PooledConnection | undefined => {
    const free = pool.filter(({ inTransaction, statements }) => !inTransaction && !(alone && statements > 0))
    const [pooled] = free.toSorted((a, b) => a.statements - b.statements)
    if (pooled === undefined) return undefined
    if (alone) pooled.inTransaction = true
    else pooled.statements += 1
    return pooled
  }

  /** First come, first served, so that later statements do not keep a transaction waiting. */
  const acquire = (alone: boolean, deadline: number): PooledConnection | Promise<PooledConnection> => {
    const pooled = waiting.length === 0 ? take(alone) : undefined
    if (pooled !== undefined) return pooled
    const since = performance.now()
    const { promise, resolve, reject } = Promise.withResolvers<PooledConnection>()
    const request = { alone, resolve }
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(request), 1)
      reject(new DatabaseUnavailable('every connection was in use for too long'))
    }, deadline - Date.now())
    waiting.push(request)
    return promise.finally(() => {
      clearTimeout(timer)
      recordMetric('DatabaseWait', performance.now() - since)
    })
  }

  const release = (pooled: PooledConnection, alone: boolean): void => {
    pooled.usedAt = Date.now()
    if (alone) pooled.inTransaction = false
    else pooled.statements -= 1
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const free = take(next.alone)
      if (free === undefined) return
      waiting.shift()
      next.resolve(free)
    }
  }

  const withPooled = async <T>(
    alone: boolean,
    use: (pooled: PooledConnection, deadline: number) => Promise<T>,
  ): Promise<T> => {
    const deadline = deadlineFromNow()
    const pooled = await acquire(alone, deadline)
    try {
      return await use(pooled, deadline)
    } finally {
      release(pooled, alone)
    }
  }

  /** Asks for the shortest response. Without one, the pool has a new connection after it. */
  const probe = async ({ connection }: PooledConnection, deadline: number): Promise<void> => {
    const client = await connection.ready(deadline)
    await responseTo(connection, client.unsafe('select'), Date.now() + FIRST_RESPONSE_MS).catch(() => {})
  }

  const withConnection = <T>(
    alone: boolean,
    use: (connection: Connection, client: postgres.Sql, deadline: number) => Promise<T>,
  ): Promise<T> =>
    withPooled(alone, async (pooled, deadline) => {
      if (wasIdleLong(pooled)) await probe(pooled, deadline)
      const { connection } = pooled
      return use(connection, await connection.ready(deadline), deadline)
    })

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
    const result = await withConnection(true, (connection, client, deadline) =>
      runIn(connection, client, { mode, deadline }, inTransaction),
    )
    await Promise.all([...afterCommit].map((invoke) => invoke()))
    return result
  }

  const uncleaned: Run = <Row extends object>(text: TemplateStringsArray, ...values: readonly SqlValue[]) =>
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
  const statement: Run = <Row extends object>(text: TemplateStringsArray, ...values: readonly SqlValue[]) =>
    withConnection(false, async (connection, client, deadline) => {
      const response = responseTo(connection, client<Row[]>(text, ...values), deadline)
      response.catch(() => {})
      await responseTo(connection, client.unsafe(CLEAN), deadline)
      return response
    })
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
    sql: Object.assign(statement, { invoking }),
    uncleaned,
    transaction,
    close: async () => {
      await Promise.all(pool.map(({ connection }) => connection.end()))
    },
  }
}

async function runIn<T>(
  connection: Connection,
  client: postgres.Sql,
  { mode, deadline }: { mode: TransactionMode; deadline: number },
  work: (run: Run) => Promise<T>,
): Promise<T> {
  let refusal: unknown = null
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
    const [done] = await attempt(() => client.unsafe(`commit; ${CLEAN}`), deadlineFromNow())
    if (done?.command !== 'COMMIT') throw new Error('the transaction had failed and was rolled back')
    return result
  } catch (error) {
    if (!connection.isLost())
      await responseTo(connection, client.unsafe(`rollback; ${CLEAN}`), deadlineFromNow()).catch(connection.discard)
    throw error
  } finally {
    refusal ??= new Error('a statement was run after the end of its transaction')
  }
}
