import type { CallByTicket } from '#shared/db/calls.ts'
import type { Call } from '#shared/db/connect.ts'
import type {
  SessionTransaction,
  SessionTransactions,
  TenantTransaction,
  TenantTransactions,
  Unscoped,
} from '#shared/db/scope.ts'
import type { Reply } from '#shared/http/reply.ts'
import type { Need } from '#shared/base/needs.ts'
import { type KeyPermission, mayKeysHold, type Permission } from '#shared/identity/permissions.ts'
import type { SentServiceKey } from '#shared/identity/service-key.ts'
import type { KeyPrincipal, Principal, SessionPrincipal, TenantPrincipal } from '#shared/identity/session.ts'
import type { StepUp } from '#shared/identity/step-up.ts'

/**
 * Who opens the transactions, when the pipeline does not put one around `handle`.
 *
 * `by handle`: `handle` opens each with `sql.read` or `sql.write`. None may be open while it hashes a password, or calls KMS
 * or a vendor. The pipeline counts the limits.
 *
 * `by call`: each call of a function of the database is one. The function checks the principal again, and the calls count
 * the limits: `handle` throws `rateLimited`.
 */
export type Opener = 'by handle' | 'by call'

/**
 * A principal in a tenant that holds the permission; for a GET, null stands for any member. `exclusive` writes of a tenant
 * take turns.
 */
export type TenantAccess =
  | { readonly permission: null }
  | { readonly permission: Permission; readonly exclusive?: true }

/**
 * Who may call. `service` is another service of the platform: `handle` passes its key to a statement, which checks it.
 * `session` is the holder of a live session, with a tenant or without. `key` is any live API key. A route with a permission is for
 * sessions, and for API keys if and only if they may hold that permission.
 */
export type Access = 'anyone' | 'service' | 'session' | 'key' | TenantAccess

/**
 * Who may call, who opens the transactions, and what the session must have proven. `tenant-scope` checks that before anything is
 * parsed. A call checks `again` itself.
 */
export type DeclaredAccess =
  | Exclude<Access, TenantAccess>
  | { readonly anyone: true; readonly transactions: 'by call' }
  | { readonly session: true; readonly stepUp: true }
  | { readonly session: true; readonly transactions: 'by call'; readonly stepUp?: StepUp }
  | { readonly session: true; readonly transactions: 'by handle'; readonly stepUp?: Exclude<StepUp, 'again'> }
  | (TenantAccess & { readonly stepUp?: true })
  | { readonly permission: Permission; readonly transactions: Opener; readonly stepUp?: true }

interface ParsedAccess {
  readonly access: Access
  /** Null: the pipeline. */
  readonly opener: Opener | null
  readonly stepUp: StepUp | null
}

/** Returns who may call, who opens the transactions, and what the session must have proven. */
export function parseAccess(declared: DeclaredAccess): ParsedAccess {
  if (typeof declared === 'string') return { access: declared, opener: null, stepUp: null }
  const fields: Exclude<DeclaredAccess, string> & { transactions?: Opener; stepUp?: StepUp } = declared
  const { transactions: opener = null, stepUp = null, ...who } = fields
  return { access: 'permission' in who ? who : 'session' in who ? 'session' : 'anyone', opener, stepUp }
}

/** Whether a session or an API key must be live. */
export const requiresPrincipal = (access: Access): access is 'session' | 'key' | TenantAccess =>
  access !== 'anyone' && access !== 'service'

/** Whether a live session is one way in. */
export const requiresSession = (access: Access): access is 'session' | TenantAccess =>
  requiresPrincipal(access) && access !== 'key'

/** Whether an API key is one way in. A key never steps up. */
export const isOpenToKeys = ({ access, stepUp }: Pick<ParsedAccess, 'access' | 'stepUp'>): boolean =>
  access === 'key' ||
  (isTenantAccess(access) && stepUp === null && access.permission !== null && mayKeysHold(access.permission))

export const isTenantAccess = (access: Access): access is TenantAccess => typeof access === 'object'

/** What `handle` gets by the access: who calls, and the ways to the database. */
export type Grant<Who, Ways, Key = null> = Ways & {
  readonly principal: Who
  /** The key of the service. Nobody has checked it. */
  readonly serviceKey: Key
}

/** The principal of an API key, where one is a way in: see `isOpenToKeys`. */
type KeyOf<A> = A extends { stepUp: unknown } ? never : A extends { permission: KeyPermission } ? KeyPrincipal : never

/** What each access grants. Another kind of principal is another row, with ways of its own. */
export type Granted<A extends DeclaredAccess, Route extends string> = A extends { permission: unknown }
  ? Grant<TenantPrincipal | KeyOf<A>, Opened<A, TenantWays>>
  : A extends 'session' | { session: true }
    ? Grant<SessionPrincipal, Opened<A, SessionWays<Route>>>
    : A extends 'key'
      ? Grant<KeyPrincipal, object>
      : Grant<null, OpenWays, A extends 'service' ? SentServiceKey : null>

/**
 * Runs the write of a reply `by handle`, and stores the reply for an `Idempotency-Key` (shared/http/once.ts). A POST that is not
 * `repeatable` returns what it returns.
 */
export type Answer = <R extends Reply | null>(work: (sql: TenantTransaction) => Promise<R>) => Promise<R>

/** Around a GET is a transaction that only reads. Around a write is one that first checks the principal again under locks. */
interface TenantWays {
  readonly around: { readonly sql: TenantTransaction }
  readonly 'by handle': { readonly sql: TenantTransactions & { readonly answer: Answer } }
  readonly 'by call': { readonly sql: Pick<TenantTransactions, 'read'>; readonly call: CallByTicket }
}

/** Outside of a tenant, no policy shows a session its rows. Its reads call functions. */
interface SessionWays<Route extends string> {
  readonly around: Route extends `GET ${string}` ? SessionWays<Route>['by call'] : { readonly sql: SessionTransaction }
  readonly 'by handle': { readonly sql: SessionTransactions }
  readonly 'by call': { readonly call: CallByTicket }
}

interface OpenWays {
  readonly sql: Unscoped
  readonly call: Call
}

/** The ways to the database by who opens the transactions. */
type Opened<A, Ways extends TenantWays | SessionWays<string>> = A extends { transactions: infer By extends Opener }
  ? Ways[By]
  : Ways['around']

/** What the pipeline fills in for any access. */
export type AnyGrant = Grant<
  Principal | null,
  {
    readonly sql?: (OpenWays | TenantWays[keyof TenantWays] | SessionWays<'POST'>['around' | 'by handle'])['sql']
    readonly call?: (OpenWays | TenantWays['by call'])['call']
  },
  SentServiceKey | null
>

/** The needs that follow from a session or an API key. The database alone counts its limits. */
const PRINCIPAL_NEEDS = ['database', 'pepper'] as const
/** The needs that follow from a service's key, and from limits without a session. */
const COUNTING_NEEDS = ['database', 'pepper', 'cache'] as const

/** The needs that follow from who may call and, with a `Limited`, from the limits. */
export type NeedsOf<A extends DeclaredAccess, Limited> = A extends 'anyone' | { anyone: true }
  ? [Limited] extends [never]
    ? never
    : (typeof COUNTING_NEEDS)[number]
  : A extends 'service'
    ? (typeof COUNTING_NEEDS)[number]
    : (typeof PRINCIPAL_NEEDS)[number]

/** Returns the needs that follow from who may call, and from whether there are limits. */
export const needsOf = (access: Access, limited: boolean): readonly Need[] => {
  if (requiresPrincipal(access)) return PRINCIPAL_NEEDS
  return access === 'service' || limited ? COUNTING_NEEDS : []
}
