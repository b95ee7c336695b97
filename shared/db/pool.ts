import { recordMetric } from '#shared/base/metrics.ts'
import { type Connection, deadlineFromNow, responseTo } from '#shared/db/connection.ts'
import { DatabaseUnavailable } from '#shared/db/failure.ts'
import { type Committed, confirmEnd, type Lent } from '#shared/db/run-in.ts'

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

/** The connections of a process. */
interface Pool {
  /**
   * Runs `use` with a connection, `alone` or beside other statements. Throws DatabaseUnavailable when every connection is in use
   * until the deadline.
   */
  readonly withPooled: <T>(
    alone: boolean,
    use: (pooled: PooledConnection, deadline: number) => Promise<T>,
  ) => Promise<T>
  /** The same, with a connection that lives: one that was idle for a minute is asked first. */
  readonly withConnection: <T>(alone: boolean, use: (lent: Lent, deadline: number) => Promise<T>) => Promise<T>
  readonly end: () => Promise<void>
}

// Lambda freezes an instance between requests, and a network may forget an idle connection without a message to either end
// (AWS documents 350 s for some of its own). The first statement would wait in vain until its deadline.
const LONG_IDLE_MS = 60_000
/** How long the first statement on a connection that was idle for long may wait for its response. */
export const FIRST_RESPONSE_MS = 400

// Of two connections with as many statements, the one that waits for no end of a read comes first.
const busyness = ({ statements, ending }: PooledConnection): number => statements + (ending === null ? 0 : 0.5)

/** Whether the connection was idle for so long that it may be lost. */
export const wasIdleLong = ({ usedAt }: PooledConnection): boolean => Date.now() - usedAt > LONG_IDLE_MS

/** Returns a pool of connections, which replaces each one that closes. */
export function openPool(connections: number, open: (onClose: () => void) => Connection): Pool {
  const pool = Array.from({ length: connections }, (): PooledConnection => {
    const openAgain = (): Connection =>
      open(() => {
        pooled.connection = openAgain()
        pooled.ending = null
      })
    const pooled: PooledConnection = {
      connection: openAgain(),
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

  const end = async (): Promise<void> => {
    await Promise.all(pool.map(({ connection }) => connection.end()))
  }
  return { withPooled, withConnection, end }
}
