import type { SecureContext } from 'node:tls'
import postgres from 'postgres'
import { DatabaseUnavailable, errorCode, INVALID_PASSWORD } from '#shared/db/failure.ts'
import { clientOptions, type ReadLogin } from '#shared/db/login.ts'
import { log } from '#shared/base/log.ts'
import { startupSettings } from '#shared/db/role-settings.ts'
import { countMetric, recordMetric } from '#shared/base/metrics.ts'
import { timestampText } from '#shared/schema/timestamp.ts'
import type { SecretVersion } from '#shared/secret/secrets-manager.ts'

/**
 * One connection to the server. It is never used again after it was lost. The library would reconnect by itself, but then
 * it runs what was queued behind a lost BEGIN outside a transaction, and starts the next response with rows of the
 * interrupted one.
 */
export interface Connection {
  readonly isLost: () => boolean
  /** Closes it immediately and rejects what is under way. */
  readonly discard: () => void
  /**
   * Returns its client: immediately when it is open, else once the server has responded for the first time. Throws
   * DatabaseUnavailable at the deadline.
   */
  readonly ready: (deadline: number) => postgres.Sql | Promise<postgres.Sql>
  /** Closes it once what is under way is done, or after a second. */
  readonly end: () => Promise<void>
}

// The warning of app.clean (migration 0001) before it ends the connection.
const UNCLEAN = 'TN500'
// The error of app.current_tenant and of the functions that enter a tenant, for what the database did not seal.
const FORGED = 'TN500'

// A server that is alive responds within the role's statement_timeout of 2 s (migration 0001).
const RESPONSE_TIMEOUT_MS = 2500

const OID = 1184
const TIMESTAMPTZ = {
  to: OID,
  from: [OID],
  serialize: (time: Date | string) => (typeof time === 'string' ? time : time.toISOString()),
  parse: timestampText,
}

export const deadlineFromNow = (): number => Date.now() + RESPONSE_TIMEOUT_MS

// After the server left a new connection without a response for so long, the next one waits for the pause.
const SILENT_MS = 1000
const PAUSE_MS = 500

/** Shared by the connections of a pool: until then, in milliseconds since the epoch, none is opened. */
export interface OpeningPause {
  until: number
}

/**
 * Creates a connection that reads its login and connects on first use. Calls `onClose` once, when the connection is lost or
 * discarded.
 *
 * When a server does not respond to a new connection, each request would wait for it, and each that comes meanwhile would
 * start an instance of Lambda. So for half a second after that, opening a connection throws DatabaseUnavailable immediately.
 *
 * When the server rejects the password, a rotation may have just replaced it: between the change in the database and the
 * change of the secret, the new password is the secret's AWSPENDING version. That one is tried once.
 * https://docs.aws.amazon.com/secretsmanager/latest/userguide/rotating-secrets_strategies.html
 */
export function openConnection(
  readLogin: ReadLogin,
  {
    prepare,
    trust,
    pause,
    onClose,
  }: { prepare: boolean; trust: SecureContext | null; pause: OpeningPause; onClose: () => void },
): Connection {
  let isLost = false
  let isOpen = false
  let client: postgres.Sql | null = null
  // By a clock that does not jump.
  let askedAt: number | null = null
  let opening: Promise<postgres.Sql> | null = null
  const end = (ended: postgres.Sql | null) => void ended?.end({ timeout: 0 }).catch(() => {})
  const discard = () => {
    if (isLost) return
    isLost = true
    countMetric(isOpen ? 'DatabaseLost' : 'DatabaseRefused')
    onClose()
    end(client)
  }
  const signIn = async (version: SecretVersion): Promise<postgres.Sql> => {
    const login = await readLogin(version).catch((cause: unknown) => {
      throw new DatabaseUnavailable('the login could not be read from Secrets Manager', { cause })
    })
    if (isLost) throw new DatabaseUnavailable('the connection was discarded before it was opened')
    const made = postgres({
      ...clientOptions(login, trust),
      // When the server closes a connection, the library opens another for what is queued. Without a password, that one times out.
      password: () => (isLost ? new Promise(() => {}) : login.password),
      max: 1,
      prepare,
      // A pooler in front of the server may refuse a connection with settings.
      connection: prepare ? startupSettings(login.username) : {},
      fetch_types: false,
      types: { timestamptz: TIMESTAMPTZ },
      connect_timeout: RESPONSE_TIMEOUT_MS / 1000,
      max_lifetime: null,
      onnotice: ({ code }) => {
        if (code !== UNCLEAN) return
        log.error(
          'a statement left a prepared statement, cursor or open transaction on its connection: the connection was closed',
          { role: login.username },
        )
        countMetric('DatabaseUnclean')
      },
      onclose: () => {
        if (isOpen) discard()
      },
    })
    client = made
    askedAt = performance.now()
    await made`select`
    recordMetric('DatabaseConnect', performance.now() - askedAt)
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
      if (isOpen && client !== null) return client
      if (opening !== null) return within(deadline, opening)
      if (Date.now() < pause.until) throw new DatabaseUnavailable('the database did not respond a moment ago')
      opening = within(deadline, signInTwice()).catch((error: unknown) => {
        if (askedAt !== null && performance.now() - askedAt > SILENT_MS) pause.until = Date.now() + PAUSE_MS
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

// After an error of the server the connection remains usable, unless the server says that it closes it.
const isSurvived = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && error.severity !== 'FATAL' && error.severity !== 'PANIC'

async function within<T>(deadline: number, promise: PromiseLike<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise<never>((_resolve, reject) => {
    const late = () => reject(new DatabaseUnavailable('the database did not respond in time'))
    timer = setTimeout(late, Math.max(0, deadline - Date.now()))
  })
  try {
    return await Promise.race([promise, silence])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Waits for a response until `deadline` (milliseconds since the epoch). Throws the server's error. Without a response,
 * throws DatabaseUnavailable or the error of the socket, and discards the connection.
 */
export async function responseTo<T>(connection: Connection, query: PromiseLike<T>, deadline: number): Promise<T> {
  try {
    return await within(deadline, query)
  } catch (error) {
    if (errorCode(error) === FORGED && !connection.isLost()) {
      log.error(
        'a statement presented a tenant or a ticket that the database had not sealed: the connection was closed',
        {
          code: FORGED,
        },
      )
      countMetric('ScopeForged')
      connection.discard()
    }
    if (!isSurvived(error)) connection.discard()
    throw error
  }
}
