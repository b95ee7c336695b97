import postgres from 'postgres'
import { DatabaseUnavailable } from '#shared/db/failure.ts'

/** What may stand as a value in a statement. Values travel as parameters, never as text of the statement. */
export type SqlValue = string | number | boolean | Date | Uint8Array | null

/**
 * Runs one statement, at once, and resolves to its rows, whose type is named at the tag. Rejects with the PostgresError
 * of the server, or with DatabaseUnavailable when there was no answer.
 */
export type Sql = <Row extends object>(text: TemplateStringsArray, ...values: readonly SqlValue[]) => Promise<Row[]>

export type TransactionMode = 'read only' | 'read write'

export interface Database {
  /** A statement in a transaction of its own. */
  readonly sql: Sql
  /**
   * Runs `work` in one transaction: committed when it resolves, rolled back when it throws. BEGIN is not waited for, so
   * it travels with the first statement. After the end, or after the connection was lost, the `sql` that `work` was
   * given refuses every statement: none may run outside the transaction or in somebody else's.
   */
  transaction<T>(mode: TransactionMode, work: (sql: Sql) => Promise<T>): Promise<T>
  close(): Promise<void>
}

// A server that is alive answers within the role's statement_timeout of 2 s (migration 0001).
const ANSWER_TIMEOUT_MS = 2500
const RECONNECT_DELAY_SECONDS = 0.1

/** One connection: its client, which connects again by itself, and how often it lost the server. */
interface Link {
  readonly client: postgres.Sql
  losses: number
}

/** A place for one transaction, or for single statements, which follow each other without waiting for the answers. */
interface Lane {
  link: Link
  held: boolean
  statements: number
}

/**
 * Opens `connections` connections, each when it is first needed. Each is a client of its own, which a transaction has to
 * itself, so that a lost connection is known to exactly the work that had it: a shared pool goes on to run that work's
 * later statements on the connection that somebody else has by then.
 * `prepare: false` is for a transaction pooler or RDS Proxy in the path, which named statements would pin; it costs a
 * second round trip for each statement with values.
 */
export function connect(url: string, options: { connections: number; prepare: boolean }): Database {
  const open = (): Link => {
    const link = {
      losses: 0,
      client: postgres(url, {
        max: 1,
        prepare: options.prepare,
        fetch_types: false,
        connect_timeout: ANSWER_TIMEOUT_MS / 1000,
        backoff: () => RECONNECT_DELAY_SECONDS,
        max_lifetime: null,
        onnotice: () => {},
        onclose: () => {
          link.losses += 1
        },
      }),
    }
    return link
  }

  const lanes = Array.from({ length: options.connections }, (): Lane => ({ link: open(), held: false, statements: 0 }))
  const waiting: { readonly alone: boolean; readonly take: (lane: Lane) => void }[] = []

  const pick = (alone: boolean): Lane | undefined => {
    let best: Lane | undefined
    for (const lane of lanes) {
      if (lane.held || (alone && lane.statements > 0)) continue
      if (best === undefined || lane.statements < best.statements) best = lane
    }
    return best
  }

  const enter = (lane: Lane, alone: boolean): Lane => {
    if (alone) lane.held = true
    else lane.statements += 1
    return lane
  }

  /** In the order of asking, so that a transaction is not kept waiting by statements that came later. */
  const acquire = (alone: boolean): Lane | Promise<Lane> => {
    const lane = waiting.length === 0 ? pick(alone) : undefined
    if (lane !== undefined) return enter(lane, alone)
    return new Promise((resolve, reject) => {
      const request = {
        alone,
        take: (free: Lane) => {
          clearTimeout(timer)
          resolve(free)
        },
      }
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(request), 1)
        reject(new DatabaseUnavailable('every connection was in use for too long'))
      }, ANSWER_TIMEOUT_MS)
      waiting.push(request)
    })
  }

  const release = (lane: Lane, alone: boolean): void => {
    if (alone) lane.held = false
    else lane.statements -= 1
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const free = pick(next.alone)
      if (free === undefined) return
      waiting.shift()
      next.take(enter(free, next.alone))
    }
  }

  const reopen = (lane: Lane) => {
    const silent = lane.link
    lane.link = open()
    silent.client.end({ timeout: 0 }).catch(() => {})
  }

  const answer = async <Rows>(lane: Lane, query: PromiseLike<Rows>): Promise<Rows> => {
    let timer: NodeJS.Timeout | undefined
    const silence = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        reopen(lane)
        reject(new DatabaseUnavailable('the database did not answer in time'))
      }, ANSWER_TIMEOUT_MS)
    })
    try {
      return await Promise.race([query, silence])
    } finally {
      clearTimeout(timer)
    }
  }

  const run = <Row extends object>(
    lane: Lane,
    text: TemplateStringsArray,
    values: readonly SqlValue[],
  ): Promise<Row[]> => answer(lane, lane.link.client<Row[]>(text, ...values))

  const transaction = async <T>(mode: TransactionMode, work: (sql: Sql) => Promise<T>): Promise<T> => {
    const lane = await acquire(true)
    const { link } = lane
    const { losses } = link
    const lost = () => lane.link !== link || link.losses !== losses
    let refusal: unknown = null
    const attempt = async <Result>(statement: () => Promise<Result>): Promise<Result> => {
      if (lost()) refusal ??= new DatabaseUnavailable('the connection was lost')
      if (refusal !== null) throw refusal
      try {
        return await statement()
      } catch (error) {
        refusal ??= error
        throw error
      }
    }
    const command = (word: string) => answer(lane, lane.link.client.unsafe(word))
    try {
      const begun = attempt(() => command(`begin ${mode}`))
      begun.catch(() => {})
      const result = await work((text, ...values) => attempt(() => run(lane, text, values)))
      const done = await attempt(() => command('commit'))
      if (done.command !== 'COMMIT') throw new Error('the transaction had failed and was rolled back')
      return result
    } catch (error) {
      if (!lost()) await command('rollback').catch(() => reopen(lane))
      throw error
    } finally {
      refusal ??= new Error('a statement after the end of its transaction')
      release(lane, true)
    }
  }

  return {
    sql: async (text, ...values) => {
      const lane = await acquire(false)
      try {
        return await run(lane, text, values)
      } finally {
        release(lane, false)
      }
    },
    transaction,
    close: async () => {
      await Promise.all(lanes.map((lane) => lane.link.client.end({ timeout: 1 })))
    },
  }
}
