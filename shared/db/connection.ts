import type { SecureContext } from 'node:tls'
import postgres from 'postgres'
import { DatabaseUnavailable, errorCode } from '#shared/db/failure.ts'
import { clientOptions, type ReadLogin } from '#shared/db/login.ts'
import { countMetric, recordMetric } from '#shared/metrics.ts'
import type { SecretVersion } from '#shared/secret/secrets-manager.ts'

/**
 * One connection, for one life: made at the first statement, and never used again after it was lost. The library would
 * connect again by itself; but then it runs what was queued behind a lost BEGIN on the new connection, without one, and
 * begins the next answer with rows of the one that was cut off.
 */
export interface Connection {
  readonly isLost: () => boolean
  /** Ends it at once; whatever is under way is rejected. */
  readonly discard: () => void
  /** Resolves to its client once the server has answered for the first time; rejects with DatabaseUnavailable at the deadline. */
  readonly ready: (deadline: number) => Promise<postgres.Sql>
  /** Ends it once what is under way is done, or after a second. */
  readonly end: () => Promise<void>
}

const INVALID_PASSWORD = '28P01'

// A server that is alive answers within the role's statement_timeout of 2 s (migration 0001).
export const ANSWER_TIMEOUT_MS = 2500

/**
 * Prepares a link; reads the login and connects at the first use. `lost` is called once, when it is of no more use.
 *
 * A password that is refused may be one that a rotation has just replaced: after its change in the database and before the
 * change of the secret, the new one is the secret's AWSPENDING version, which is tried once.
 * https://docs.aws.amazon.com/secretsmanager/latest/userguide/rotating-secrets_strategies.html
 */
export function openConnection(
  readLogin: ReadLogin,
  { prepare, trust, lost }: { prepare: boolean; trust: SecureContext | null; lost: () => void },
): Connection {
  let isLost = false
  let isOpen = false
  let client: postgres.Sql | null = null
  let opening: Promise<postgres.Sql> | null = null
  const end = (ended: postgres.Sql | null) => void ended?.end({ timeout: 0 }).catch(() => {})
  const discard = () => {
    if (isLost) return
    isLost = true
    countMetric(isOpen ? 'DatabaseLost' : 'DatabaseRefused')
    lost()
    end(client)
  }
  const signIn = async (version: SecretVersion): Promise<postgres.Sql> => {
    const login = await readLogin(version).catch((cause: unknown) => {
      throw new DatabaseUnavailable('the login could not be read', { cause })
    })
    if (isLost) throw new DatabaseUnavailable('the connection was given up before it was made')
    const made = postgres({
      ...clientOptions(login, trust),
      max: 1,
      prepare,
      fetch_types: false,
      connect_timeout: ANSWER_TIMEOUT_MS / 1000,
      max_lifetime: null,
      onnotice: () => {},
      onclose: () => {
        if (isOpen) discard()
      },
    })
    client = made
    const since = performance.now()
    await made`select`
    recordMetric('DatabaseConnect', performance.now() - since)
    isOpen = true
    return made
  }
  const signInTwice = (): Promise<postgres.Sql> =>
    signIn('AWSCURRENT').catch((refused: unknown) => {
      if (errorCode(refused) !== INVALID_PASSWORD) throw refused
      end(client)
      return signIn('AWSPENDING').catch((error: unknown) => {
        throw error instanceof DatabaseUnavailable ? refused : error
      })
    })
  return {
    isLost: () => isLost,
    discard,
    ready: (deadline) => {
      if (opening !== null) return before(deadline, opening)
      opening = before(deadline, signInTwice()).catch((error: unknown) => {
        discard()
        throw error
      })
      return opening
    },
    end: async () => {
      isLost = true
      await client?.end({ timeout: 1 })
    },
  }
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
export async function answerOf<Rows>(link: Connection, query: PromiseLike<Rows>, deadline: number): Promise<Rows> {
  try {
    return await before(deadline, query)
  } catch (error) {
    if (!isSurvived(error)) link.discard()
    throw error
  }
}
