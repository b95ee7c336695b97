import type postgres from 'postgres'
import { DatabaseUnavailable } from '#shared/db/failure.ts'
import { ANSWER_TIMEOUT_MS, answerOf, type Connection, openConnection } from '#shared/db/connection.ts'
import { recordMetric } from '#shared/metrics.ts'
import type { InvokedJob } from '#shared/needs.ts'
import { type ReadLogin, type TlsOptions, trustFor } from '#shared/db/login.ts'

/** What may stand as a value in a statement. Values travel as parameters, never as text of the statement. */
export type SqlValue = string | number | boolean | Date | Uint8Array | null

export interface Sql {
  /**
   * Runs one statement immediately and returns its rows, whose type is named at the tag. Throws the PostgresError of the
   * server; without a response, DatabaseUnavailable or the error of the socket.
   */
  <Row extends object>(text: TemplateStringsArray, ...values: readonly SqlValue[]): Promise<Row[]>
  /**
   * Returns the same tag; after the commit of its statement, `job` is invoked, once for each transaction. Throws when the
   * function does not name `invoke:JOB` among its needs.
   */
  readonly invoking: (job: InvokedJob) => Sql
}

type Run = <Row extends object>(text: TemplateStringsArray, ...values: readonly SqlValue[]) => Promise<Row[]>

/** The jobs that a function may invoke after a commit, with the call that does it and never rejects. */
export type Invocations = ReadonlyMap<InvokedJob, () => Promise<void>>

export type TransactionMode = 'read only' | 'read write'

export interface Database {
  /** A statement in a transaction of its own. */
  readonly sql: Sql
  /**
   * Runs `work` in one transaction: committed when it resolves, rolled back when it throws or when one of its statements
   * failed. BEGIN is not waited for, so it travels with the first statement. After the end, or after the connection was
   * lost, the `sql` that `work` was given refuses every statement: none may run outside the transaction.
   */
  transaction<T>(mode: TransactionMode, work: (sql: Sql) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** A place for one transaction, or for single statements, which follow each other without waiting for the answers. */
interface PooledConnection {
  link: Connection
  held: boolean
  statements: number
}

/** How a process connects. */
export interface ConnectOptions extends TlsOptions {
  readonly connections: number
  readonly prepare: boolean
}

const deadlineFromNow = (): number => Date.now() + ANSWER_TIMEOUT_MS

/**
 * Opens `connections` connections, each when it is first needed. Each is a client of its own, which a transaction has to
 * itself, so that a lost connection is known to exactly the work that had it.
 * `prepare: false` is for a transaction pooler or RDS Proxy in the path, which named statements would pin; it costs a
 * second round trip for each statement with values.
 */
export function connect(readLogin: ReadLogin, options: ConnectOptions, invocations: Invocations = new Map()): Database {
  const trust = trustFor(options)
  const pool = Array.from({ length: options.connections }, (): PooledConnection => {
    const open = (): Connection =>
      openConnection(readLogin, {
        prepare: options.prepare,
        trust,
        lost: () => {
          lane.link = open()
        },
      })
    const lane: PooledConnection = { link: open(), held: false, statements: 0 }
    return lane
  })
  const waiting: { readonly alone: boolean; readonly take: (lane: PooledConnection) => void }[] = []

  const pick = (alone: boolean): PooledConnection | undefined => {
    let best: PooledConnection | undefined
    for (const lane of pool) {
      if (lane.held || (alone && lane.statements > 0)) continue
      if (best === undefined || lane.statements < best.statements) best = lane
    }
    return best
  }

  const enter = (lane: PooledConnection, alone: boolean): PooledConnection => {
    if (alone) lane.held = true
    else lane.statements += 1
    return lane
  }

  /** In the order of asking, so that a transaction is not kept waiting by statements that came later. */
  const acquire = (alone: boolean, deadline: number): PooledConnection | Promise<PooledConnection> => {
    const lane = waiting.length === 0 ? pick(alone) : undefined
    if (lane !== undefined) return enter(lane, alone)
    const since = performance.now()
    return new Promise((resolve, reject) => {
      const request = {
        alone,
        take: (free: PooledConnection) => {
          clearTimeout(timer)
          recordMetric('DatabaseWait', performance.now() - since)
          resolve(free)
        },
      }
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(request), 1)
        recordMetric('DatabaseWait', performance.now() - since)
        reject(new DatabaseUnavailable('every connection was in use for too long'))
      }, deadline - Date.now())
      waiting.push(request)
    })
  }

  const release = (lane: PooledConnection, alone: boolean): void => {
    if (alone) lane.held = false
    else lane.statements -= 1
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const free = pick(next.alone)
      if (free === undefined) return
      waiting.shift()
      next.take(enter(free, next.alone))
    }
  }

  const invocation = (job: InvokedJob): (() => Promise<void>) => {
    const invoke = invocations.get(job)
    if (invoke === undefined) throw new Error(`This function does not name invoke:${job} among its needs`)
    return invoke
  }

  const transaction = async <T>(mode: TransactionMode, work: (sql: Sql) => Promise<T>): Promise<T> => {
    const asked = deadlineFromNow()
    const lane = await acquire(true, asked)
    const afterCommit = new Set<() => Promise<void>>()
    const inTransaction = (run: Run): Promise<T> => {
      const invoking = (job: InvokedJob): Sql => {
        afterCommit.add(invocation(job))
        return sql
      }
      const sql = Object.assign(run, { invoking })
      return work(sql)
    }
    let result: T
    try {
      const { link } = lane
      result = await runIn(link, await link.ready(asked), { mode, asked }, inTransaction)
    } finally {
      release(lane, true)
    }
    for (const invoke of afterCommit) await invoke()
    return result
  }

  const statement: Run = async <Row extends object>(text: TemplateStringsArray, ...values: readonly SqlValue[]) => {
    const deadline = deadlineFromNow()
    const lane = await acquire(false, deadline)
    const { link } = lane
    try {
      const client = await link.ready(deadline)
      return await answerOf(link, client<Row[]>(text, ...values), deadline)
    } finally {
      release(lane, false)
    }
  }
  const invoking = (job: InvokedJob): Sql => {
    const invoke = invocation(job)
    const run: Run = async <Row extends object>(text: TemplateStringsArray, ...values: readonly SqlValue[]) => {
      const rows = await statement<Row>(text, ...values)
      await invoke()
      return rows
    }
    return Object.assign(run, { invoking })
  }

  return {
    sql: Object.assign(statement, { invoking }),
    transaction,
    close: async () => {
      await Promise.all(pool.map((lane) => lane.link.end()))
    },
  }
}

async function runIn<T>(
  link: Connection,
  client: postgres.Sql,
  { mode, asked }: { mode: TransactionMode; asked: number },
  work: (run: Run) => Promise<T>,
): Promise<T> {
  let refusal: unknown = null
  const attempt = async <Result>(query: () => PromiseLike<Result>, deadline: number): Promise<Result> => {
    if (link.isLost()) refusal ??= new DatabaseUnavailable('the connection was lost')
    if (refusal !== null) throw refusal
    try {
      return await answerOf(link, query(), deadline)
    } catch (error) {
      refusal ??= error
      throw error
    }
  }
  const begun = attempt(() => client.unsafe(`begin ${mode}`), asked)
  begun.catch(() => {})
  try {
    const result = await work(<Row extends object>(text: TemplateStringsArray, ...values: readonly SqlValue[]) =>
      attempt(() => client<Row[]>(text, ...values), deadlineFromNow()),
    )
    const done = await attempt(() => client.unsafe('commit'), deadlineFromNow())
    if (done.command !== 'COMMIT') throw new Error('the transaction had failed and was rolled back')
    return result
  } catch (error) {
    if (!link.isLost()) await answerOf(link, client.unsafe('rollback'), deadlineFromNow()).catch(() => link.discard())
    throw error
  } finally {
    refusal ??= new Error('a statement after the end of its transaction')
  }
}
