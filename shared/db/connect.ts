import { DatabaseUnavailable } from '#shared/db/failure.ts'
import { deadlineFromNow, responseTo, type Connection, openConnection } from '#shared/db/connection.ts'
import type { Run, SqlValue } from '#shared/db/run.ts'
import { CLEAN, type Committed, type Lent, type TransactionMode, confirmEnd, runIn } from '#shared/db/run-in.ts'
import { recordMetric } from '#shared/base/metrics.ts'
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

/** A connection of the pool. One transaction has it alone; single statements share it and do not wait for each other's responses. */
interface PooledConnection {
  connection: Connection
  inTransaction: boolean
  /** How many single statements are under way. */
  statements: number
  /** When its last use ended, in milliseconds since the epoch. */
  usedAt: number
  /** The end of a read, which the server has not confirmed yet. It never rejects. */
  ending: Promise<void> | null
}

/** How a process connects. */
export interface ConnectOptions extends TlsOptions {
  readonly connections: number
  readonly prepare: boolean
}

// Lambda freezes an instance between requests, and a network may forget an idle connection without a message to either end
// (AWS documents 350 s for some of its own). The first statement would wait in vain until its deadline.
const LONG_IDLE_MS = 60_000
const FIRST_RESPONSE_MS = 400

// Of two connections with as many statements, the one that waits for no end of a read comes first.
const busyness = ({ statements, ending }: PooledConnection): number => statements + (ending === null ? 0 : 0.5)

const wasIdleLong = ({ usedAt }: PooledConnection): boolean => Date.now() - usedAt > LONG_IDLE_MS

/**
 * Returns a database that opens up to `connections` connections, each when it is first needed. When a connection is lost,
 * exactly the work that used it fails. `prepare: false` is for RDS Proxy or a transaction pooler, which named statements
 * would pin; it costs each statement with values a second round trip.
 */
export function connect(readLogin: ReadLogin, options: ConnectOptions, invocations: Invocations = new Map()): Database {
  const trust = trustFor(options)
  const pause = { until: 0 }
  const pool = Array.from({ length: options.connections }, (): PooledConnection => {
    const open = (): Connection =>
      openConnection(readLogin, {
        prepare: options.prepare,
        trust,
        pause,
        onClose: () => {
          pooled.connection = open()
          pooled.ending = null
        },
      })
    const pooled: PooledConnection = {
      connection: open(),
      inTransaction: false,
      statements: 0,
      usedAt: Date.now(),
      ending: null,
    }
    return pooled
  })
  const waiting: { readonly alone: boolean; readonly resolve: (pooled: PooledConnection) => void }[] = []

  /** Takes the connection with the fewest statements; returns undefined when every one is in use. */
  const take = (alone: boolean): PooledConnection | undefined => {
    let pooled: PooledConnection | undefined
    for (const each of pool) {
      if (each.inTransaction || (alone && each.statements > 0)) continue
      if (pooled === undefined || busyness(each) < busyness(pooled)) pooled = each
    }
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

  /** Waits for the end of the last read. Without a response, the pool has a new connection after it. */
  const endOf = (pooled: PooledConnection, ending: Promise<void>, deadline: number): Promise<void> => {
    const until = wasIdleLong(pooled) ? Math.min(deadline, Date.now() + FIRST_RESPONSE_MS) : deadline
    return responseTo(pooled.connection, ending, until).catch(() => {})
  }

  const endLater = (pooled: PooledConnection, connection: Connection, commit: PromiseLike<Committed>): void => {
    const confirmed = async (): Promise<void> => {
      await confirmEnd(connection, commit)
      if (pooled.ending === ending) pooled.ending = null
    }
    const ending = confirmed()
    pooled.ending = ending
  }

  const withPooled = async <T>(
    alone: boolean,
    use: (pooled: PooledConnection, deadline: number) => Promise<T>,
  ): Promise<T> => {
    const deadline = deadlineFromNow()
    const pooled = await acquire(alone, deadline)
    try {
      if (pooled.ending !== null) await endOf(pooled, pooled.ending, deadline)
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

  const withConnection = <T>(alone: boolean, use: (lent: Lent, deadline: number) => Promise<T>): Promise<T> =>
    withPooled(alone, async (pooled, deadline) => {
      if (wasIdleLong(pooled)) await probe(pooled, deadline)
      const { connection } = pooled
      const client = await connection.ready(deadline)
      return use({ connection, client, endLater: (commit) => endLater(pooled, connection, commit) }, deadline)
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
      const connection = openConnection(readLogin, { prepare: options.prepare, trust, pause, onClose: () => {} })
      try {
        const client = await connection.ready(deadlineFromNow())
        return await work(<Row extends object>(text: TemplateStringsArray, ...values: readonly SqlValue[]) =>
          responseTo(connection, client<Row[]>(text, ...values), deadlineFromNow()),
        )
      } finally {
        await connection.end()
      }
    },
    close: async () => {
      await Promise.all(pool.map(({ connection }) => connection.end()))
    },
  }
}
