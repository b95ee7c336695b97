import type { AnyPrincipal } from './principal.ts'
import { checkStepUp, type StepUpOptions } from './step-up.ts'

const MEANINGS = {
  401: 'the session or API key is no longer live in the tenant',
  403: 'the session has selected another tenant, or its role or the API key does not hold the permission',
  'step-up-required': 'the session has not signed in or stepped up lately',
  503: 'this database did not seal the proof: it is the database of another stage, or its seal was renewed since',
} as const

/** The database does not let the principal into the tenant, or no longer. `guard.protect` responds with its status. */
export class TenantRefused extends Error {
  override readonly name = 'TenantRefused'
  readonly status: 401 | 403 | 503
  /** The kind of the 403, if it has one. */
  readonly slug: 'step-up-required' | null

  constructor(reason: keyof typeof MEANINGS, options?: ErrorOptions) {
    super(MEANINGS[reason], options)
    this.slug = reason === 'step-up-required' ? reason : null
    this.status = reason === 'step-up-required' ? 403 : reason
  }
}

/** One connection, for one transaction. */
export interface Channel<Sql> {
  /** For the work. Its statements reject after the end of the transaction, or of the connection. */
  readonly sql: Sql
  /** Sends one message with several statements, of the simple protocol. Returns their commands. */
  readonly control: (text: string) => Promise<readonly string[]>
  /** Sends `select app.enter(…)`. */
  readonly enter: (proof: Uint8Array, permission: string | null, stepUpSeconds: number | null) => Promise<unknown>
}

export interface TransactionOptions extends StepUpOptions {
  /** That of the database, `read committed`, by default. With `serializable`, repeat the work after an error of class 40. */
  readonly isolation?: 'repeatable read' | 'serializable'
}

export interface Entry extends TransactionOptions {
  readonly mode: 'read only' | 'read write'
  readonly principal: Pick<AnyPrincipal, 'proof'>
  readonly permission: string | null
}

// Removes what an earlier statement left on the connection, or ends the connection. No prepared statement can take the place of a
// message of the simple protocol, so a planted one never sees a proof.
const CLEAN = 'select app.clean()'

/**
 * Runs `work` in the tenant of the principal. The statements that begin and enter travel with the first one of `work`, which
 * therefore starts before the database has checked the proof. When it refuses the proof, every statement fails, nothing
 * commits, and TenantRefused is thrown.
 */
export async function inTenant<Sql, T>(
  { sql, control, enter }: Channel<Sql>,
  { mode, principal, permission, isolation, stepUpSeconds }: Entry,
  work: (sql: Sql) => Promise<T>,
): Promise<T> {
  const seconds = checkStepUp({ stepUpSeconds })
  const begun = control(`begin ${isolation === undefined ? '' : `isolation level ${isolation} `}${mode}; ${CLEAN}`)
  const entered = Promise.all([begun, enter(Buffer.from(principal.proof, 'base64url'), permission, seconds)])
  entered.catch(() => {})
  try {
    const result = await work(sql)
    await entered
    const [command] = await control(`commit; ${CLEAN}`)
    if (command !== 'COMMIT') throw new Error('a statement failed, so the transaction was rolled back')
    return result
  } catch (error) {
    await control(`rollback; ${CLEAN}`).catch(() => {})
    // Why the entry failed explains why the statements did.
    await entered.catch((reason: unknown) => {
      throw refusalFor(reason)
    })
    throw error
  }
}

/** The codes of app.enter. TN500 is no fault of the client. */
const REASONS: Readonly<Record<string, keyof typeof MEANINGS>> = {
  TN401: 401,
  TN403: 403,
  TN428: 'step-up-required',
  TN500: 503,
}

function refusalFor(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const reason = REASONS[code]
  return reason === undefined ? error : new TenantRefused(reason, { cause: error })
}
