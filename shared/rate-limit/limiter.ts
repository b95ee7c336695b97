import { Ratelimit } from '@upstash/ratelimit'
import { Redis } from '@upstash/redis'
import type { Database } from '#shared/db/connect.ts'
import { type CacheAccess, cacheRequester } from '#shared/rate-limit/cache-requester.ts'
import { type AttemptOutcome, type Limit, type Refusal, secondsLeft, type Taken } from '#shared/rate-limit/limit.ts'
import { GIVE_BACK, SLIDING_WINDOWS } from '#shared/rate-limit/sliding-windows.ts'
import { countAttempt, forgetWithParts } from '#shared/rate-limit/queries.ts'

export interface Limiter {
  /**
   * Looks at all limits of one attempt, and counts it against each only if none refuses it. So what a narrow limit refuses uses up no
   * wide one that others share. Returns null when all allow it, otherwise the first limit that refuses it.
   */
  attempt(limits: readonly Limit[]): Promise<Refusal | null>
  /**
   * As `attempt`, and runs the statements of `read` in the round trip that counts in the database. A refusal by the cache runs
   * none. Returns what was read, with what the attempt took, or the refusal. The caller settles what was taken: in the cache by
   * `settleInCache`, and in the database in the statement that decides the outcome (app.sign_in).
   */
  attemptWhileReading<Found>(
    limits: readonly Limit[],
    read: () => Promise<Found>,
  ): Promise<Refusal | { readonly found: Found; readonly taken: Taken }>
  /**
   * Like `attempt`, but always makes the same number of cache calls and SQL statements, so that response time reveals
   * neither a refusal nor its cause. So a refusal by the cache does not spare the database.
   */
  attemptInConstantSteps(limits: readonly Limit[]): Promise<Refusal | null>
  /**
   * Settles in the cache what an attempt took there. A success gives it back and forgets the failures. A failure counts against the limits
   * on failures. A refusal gives it back. Makes one call of the cache in every case.
   */
  settleInCache(limits: readonly Limit[], taken: Taken, outcome: AttemptOutcome): Promise<void>
  /** Deletes the attempts counted against a limit, and against its parts. `parts` is one of the parts. */
  forgetWithParts(limit: Limit, parts: Pick<Limit, 'name' | 'windowSeconds'>): Promise<void>
  /** Throws when the cache does not respond within a second. */
  ping(): Promise<void>
}

// A sign-in spends at most 200 ms on the cache: for counting and for settling. A slower cache is treated as down.
const COUNT_BUDGET_MS = 150
const SETTLE_BUDGET_MS = 50
// The longest request that one DEL makes: 100 kB. Keys beyond it expire by themselves.
const MAX_DELETED_KEYS = 1000
const PING_TIMEOUT_MS = 1000
// After a failure the cache is not called for this long, so that not every sign-in waits for it.
const PAUSE_MS = 5000

const prefixOf = (name: string): string => `limit:${name}`

// The two keys in which the library stores a sliding window. Its own resetUsedTokens would find them with a SCAN of the
// whole cache at every sign-in.
const windowKeys = (
  { name, subject, windowSeconds }: Pick<Limit, 'name' | 'subject' | 'windowSeconds'>,
  now = Date.now(),
): string[] => {
  const window = Math.floor(now / (windowSeconds * 1000))
  const identifier = `${prefixOf(name)}:${subject.toString('base64url')}`
  return [`${identifier}:${window}`, `${identifier}:${window - 1}`]
}

/** Sends the commands that are issued together in one request. With a requester of ours, the library does it only when it is told. */
class PipeliningRedis extends Redis {
  pipelining(): Redis {
    return this.autoPipeline()
  }
}

/**
 * Returns a limiter with sliding windows, counted first in the cache and then in the database. A refusal by the cache is
 * final and costs the database nothing. What the cache allows, the database counts again by the same rules, and decides. So
 * a cache that fails, loses data, or is slower than 200 ms neither stops a sign-in nor allows one attempt too many. Calls
 * `degraded` at each failure. `budgetMs` replaces what a call may take, for tests that count calls on a busy machine.
 */
export function createLimiter(
  options: CacheAccess & {
    readonly database: Pick<Database, 'sql' | 'call'>
    readonly degraded: (error: unknown) => void
    readonly budgetMs?: number
  },
): Limiter {
  const { sql, call } = options.database
  const countBudgetMs = options.budgetMs ?? COUNT_BUDGET_MS
  const settleBudgetMs = options.budgetMs ?? SETTLE_BUDGET_MS
  const client = (timeoutMs: number) => new PipeliningRedis(cacheRequester(options, timeoutMs)).pipelining()
  const redis = client(countBudgetMs)
  const count = redis.createScript<number[]>(SLIDING_WINDOWS)
  const giveBack = redis.createScript<number>(GIVE_BACK)
  const windows = new Map<string, Ratelimit>()
  let pausedUntil = 0

  const windowFor = ({ name, limit, windowSeconds }: Limit): Ratelimit => {
    const key = `${name}:${limit}:${windowSeconds}`
    let window = windows.get(key)
    if (window === undefined) {
      window = new Ratelimit({
        redis,
        limiter: Ratelimit.slidingWindow(limit, `${windowSeconds} s`),
        prefix: prefixOf(name),
        // Both defaults are wrong for a sign-in: the library's own timeout allows every attempt after 5 s, and its
        // in-memory cache keeps blocking after a success.
        timeout: 0,
        ephemeralCache: false,
      })
      windows.set(key, window)
    }
    return window
  }

  const withCache = async <T>(budgetMs: number, call: () => Promise<T>): Promise<T | null> => {
    if (Date.now() < pausedUntil) return null
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error('the cache did not respond in time')), budgetMs)
    })
    try {
      return await Promise.race([call(), late])
    } catch (error) {
      pausedUntil = Date.now() + PAUSE_MS
      options.degraded(error)
      return null
    } finally {
      clearTimeout(timer)
    }
  }

  const countInCache = async (limits: readonly Limit[]): Promise<{ refusal: Refusal | null; keys: string[] }> => {
    const now = Date.now()
    const keys = limits.flatMap((each) => windowKeys(each, now))
    const rules = limits.flatMap((each) => [
      each.limit,
      each.windowSeconds * 1000,
      // Only the database has the known networks.
      each.unlessKnown === undefined ? 1 : 0,
      each.counts === 'failures' ? 0 : 1,
    ])
    const [refusedBy = -1, ...counted] = await count.exec(keys, [now, ...rules].map(String))
    const limit = limits[refusedBy]
    if (limit === undefined) {
      const isReturned = (at: number) => counted[at] === 1 && limits[at]?.counts === 'until success'
      return { refusal: null, keys: keys.filter((_key, index) => index % 2 === 0 && isReturned(index / 2)) }
    }
    return { refusal: { limit, retryAfterSeconds: secondsLeft(limit.windowSeconds, now) }, keys: [] }
  }

  return {
    attemptInConstantSteps: async (limits) => {
      const inCache = await withCache(countBudgetMs, () => countInCache(limits))
      return (await countAttempt(call.repeatable, limits, inCache?.refusal)).refusal
    },
    attempt: async (limits) => {
      const inCache = await withCache(countBudgetMs, () => countInCache(limits))
      return inCache?.refusal ?? (await countAttempt(call.repeatable, limits)).refusal
    },
    attemptWhileReading: async (limits, read) => {
      const inCache = await withCache(countBudgetMs, () => countInCache(limits))
      if (inCache?.refusal) return inCache.refusal
      const [counted, found] = await Promise.all([countAttempt(call.repeatable, limits), read()])
      const taken = { inCache: inCache?.keys ?? [], inDatabase: counted.taken }
      if (counted.refusal === null) return { found, taken }
      await withCache(settleBudgetMs, () => giveBack.exec([...taken.inCache], []))
      return counted.refusal
    },
    settleInCache: async (limits, { inCache }, outcome) => {
      const onFailures = limits.filter(({ counts }) => counts === 'failures')
      // The client sends all in one request, because they are issued together.
      const calls = (): Promise<unknown>[] => {
        if (outcome === 'failed')
          return onFailures.map((each) => windowFor(each).limit(each.subject.toString('base64url')))
        const forgotten = onFailures.flatMap((each) => windowKeys(each))
        return [
          giveBack.exec([...inCache], []),
          ...(outcome === 'succeeded' && forgotten.length > 0 ? [redis.del(...forgotten)] : []),
        ]
      }
      await withCache(settleBudgetMs, () => Promise.all(calls()))
    },
    forgetWithParts: async (limit, parts) => {
      const subjects = await forgetWithParts(sql, limit)
      const { name, windowSeconds } = parts
      const keys = [
        ...windowKeys(limit),
        ...subjects.flatMap((subject) => windowKeys({ name, windowSeconds, subject })),
      ]
      await withCache(settleBudgetMs, () => redis.del(...keys.slice(0, MAX_DELETED_KEYS)))
    },
    ping: async () => {
      await client(PING_TIMEOUT_MS).ping()
    },
  }
}
