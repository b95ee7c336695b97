import postgres from 'postgres'
import { DatabaseUnavailable } from '#shared/db/failure.ts'

/**
 * One connection, for one life: made at the first statement, and never used again after it was lost. The library would
 * connect again by itself; but then it runs what was queued behind a lost BEGIN on the new connection, without one, and
 * begins the next answer with rows of the one that was cut off.
 */
export interface Link {
  readonly client: postgres.Sql
  readonly isLost: () => boolean
  /** Ends it at once; whatever is under way is rejected. */
  readonly discard: () => void
  /** Resolves once the server has answered for the first time; rejects with DatabaseUnavailable at the deadline. */
  readonly ready: (deadline: number) => Promise<void>
}

// A server that is alive answers within the role's statement_timeout of 2 s (migration 0001).
export const ANSWER_TIMEOUT_MS = 2500

/** Prepares a link; connects at the first use. `lost` is called once, when it is of no more use. */
export function openLink(url: string, { prepare, lost }: { prepare: boolean; lost: () => void }): Link {
  let isLost = false
  let opening: Promise<unknown> | null = null
  const discard = () => {
    if (isLost) return
    isLost = true
    lost()
    client.end({ timeout: 0 }).catch(() => {})
  }
  const client = postgres(url, {
    max: 1,
    prepare,
    fetch_types: false,
    connect_timeout: ANSWER_TIMEOUT_MS / 1000,
    max_lifetime: null,
    onnotice: () => {},
    onclose: discard,
  })
  const link: Link = {
    client,
    isLost: () => isLost,
    discard,
    ready: async (deadline) => {
      opening ??= answerOf(link, client`select`, Date.now() + ANSWER_TIMEOUT_MS)
      await before(deadline, opening)
    },
  }
  return link
}

// The server is still there after an error of its own, unless it says that it ends the session.
const isSurvived = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.severity !== 'FATAL' && error.severity !== 'PANIC'

async function before<T>(deadline: number, promise: PromiseLike<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise<never>((_resolve, reject) => {
    const late = () => reject(new DatabaseUnavailable('the database did not answer in time'))
    timer = setTimeout(late, Math.max(0, deadline - Date.now()))
  })
  try {
    return await Promise.race([promise, silence])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Waits for an answer until `deadline` (milliseconds since the epoch). Rejects with the server's error, or, when the
 * answer did not come, with DatabaseUnavailable or the socket's error, after which the link is lost.
 */
export async function answerOf<Rows>(link: Link, query: PromiseLike<Rows>, deadline: number): Promise<Rows> {
  try {
    return await before(deadline, query)
  } catch (error) {
    if (!isSurvived(error)) link.discard()
    throw error
  }
}
