import type * as v from 'valibot'
import type { Config } from '#shared/config.ts'
import type { Sql } from '#shared/db/connect.ts'
import type {
  SessionTransaction,
  SessionTransactions,
  TenantTransactions,
  TenantTransaction,
} from '#shared/db/scope.ts'
import type { ProblemKind } from '#shared/problem.ts'
import type { Reply } from '#shared/http/reply.ts'
import type { Need } from '#shared/needs.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'
import type { Permission } from '#shared/role/permissions.ts'
import type { RuntimeFor } from '#shared/runtime.ts'
import type { ClientInfo } from '#shared/schema/client.ts'
import type { SentServiceKey } from '#shared/service-key/service-key.ts'
import type { Principal, TenantPrincipal } from '#shared/session/session.ts'

/**
 * A member of a tenant whose role holds the permission; for a GET, null stands for any member. `exclusive` writes of a tenant
 * take turns.
 */
export type TenantAccess =
  | { readonly permission: null }
  | { readonly permission: Permission; readonly exclusive?: true }
  | { readonly permission: Permission; readonly transaction: 'own' }

/** The holder of a live session, with a tenant or without. */
type SessionAccess = 'session' | { readonly session: true; readonly transaction: 'own' }

/**
 * Who may call. `service` is another service of the platform: `handle` passes its key to a statement, which checks it. `handle` runs in one transaction that commits with the reply: read-only for a GET of a tenant, and for a
 * write one that first checks the principal again under locks. With `transaction: 'own'` it opens such transactions
 * itself, because none may be open while it hashes a password, counts limits, or calls KMS or a vendor; or it needs none, because
 * it calls one function that checks the ticket.
 */
export type Access = 'anyone' | 'service' | SessionAccess | TenantAccess

/** Whether a session must be live. */
export const requiresSession = (access: Access): access is SessionAccess | TenantAccess =>
  access !== 'anyone' && access !== 'service'

export const isTenantAccess = (access: Access): access is TenantAccess =>
  typeof access === 'object' && 'permission' in access

type PrincipalFor<A extends Access> = A extends 'anyone' | 'service'
  ? null
  : A extends SessionAccess
    ? Principal
    : TenantPrincipal

/** Only an endpoint for anyone, and a GET of a session, run statements outside of a transaction. */
type SqlFor<A extends Access, R extends string> = A extends TenantAccess
  ? A extends { transaction: 'own' }
    ? TenantTransactions
    : TenantTransaction
  : A extends { transaction: 'own' }
    ? SessionTransactions
    : A extends 'session'
      ? R extends `GET ${string}`
        ? Sql
        : SessionTransaction
      : Sql

/** The needs that follow from who may call, and from the limits. Only the database counts the limits of a session: see `limits`. */
const SESSION_NEEDS = ['database', 'pepper'] as const
const SERVICE_NEEDS = ['database', 'pepper', 'cache'] as const
const LIMIT_NEEDS = ['database', 'pepper', 'cache'] as const
/** The need that follows from an audit entry: the entry may be published. */
const AUDIT_NEEDS = ['invoke:publish-events'] as const
type AccessNeeds<A extends Access> = A extends 'anyone'
  ? never
  : A extends 'service'
    ? (typeof SERVICE_NEEDS)[number]
    : (typeof SESSION_NEEDS)[number]
type LimitNeeds<L extends Limit, A extends Access> = [L] extends [never]
  ? never
  : A extends 'anyone' | 'service'
    ? (typeof LIMIT_NEEDS)[number]
    : never

/** The names of the parameters in a route. */
export type ParamNames<Route extends string> = Route extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never

/** A parsed and authorized request, for `handle`. It has `sql` only if the endpoint needs a database. */
export type RequestContext<R extends string, A extends Access, N extends Need, Params, Query, Body> = {
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly principal: PrincipalFor<A>
  /** The session token of the request, well-formed and not checked. */
  readonly sentToken: string | null
  /** The key of the service. Nobody has checked it. */
  readonly serviceKey: A extends 'service' ? SentServiceKey : null
  readonly client: ClientInfo
  readonly requestId: string
  /** The value of `If-Match`, for `requireMatch` of an endpoint with an `etag`. */
  readonly ifMatch: string | null
  readonly runtime: RuntimeFor<N>
} & ('database' extends N ? { readonly sql: SqlFor<A, R> } : unknown)

/** The input for the limits of an endpoint. */
export interface LimitInput<Body> {
  readonly body: Body
  readonly principal: Principal | null
  readonly client: ClientInfo
  readonly config: Config
  readonly pepper: string
}

type Schema = v.GenericSchema<unknown, unknown>
type Output<S extends Schema | undefined> = S extends Schema ? v.InferOutput<S> : null

type Readable<T> = T extends object ? { readonly [Name in keyof T]: Readable<T[Name]> } : T

/** A problem that the endpoint throws: a status of type `about:blank`, or a kind, with the schema of its members if any. */
export type DeclaredProblem = 401 | 403 | 404 | ProblemKind | { readonly kind: ProblemKind; readonly members: Schema }

interface Definition<
  R extends string,
  A extends Access,
  N extends Need,
  L extends Limit,
  Q extends Schema | undefined,
  B extends Schema | undefined,
  P extends Schema | undefined,
  E extends true | undefined,
> {
  /** `METHOD /path/{param}`. Every parameter is a UUID; any other value gets a 404. */
  readonly route: R
  /** The parameters are positive integers, not UUIDs. */
  readonly integerId?: true
  readonly access: A
  /** What the endpoint does, in a few words, for the API document. */
  readonly summary: string
  /** What a caller must know beyond the summary, for the API document. */
  readonly description?: string
  /** What `handle` reaches, beyond what follows from the access and the limits. */
  readonly needs?: readonly N[]
  readonly query?: Q
  readonly body?: B
  /** The JSON body of a success. `handle` returns the schema's output, a client gets its input. Without a schema: 204. */
  readonly reply?: P
  /** The problems that do not follow from the access, the parameters, the query, the body and the limits. */
  readonly problems?: readonly DeclaredProblem[]
  /** Whether the response carries an ETag, and a write compares `If-Match` with it: see shared/http/etag.ts. */
  readonly etag?: E
  /** Whether the body may also be sent as application/x-www-form-urlencoded. */
  readonly form?: true
  /** Whether the body is a JSON merge patch (RFC 7396), and may be sent as application/merge-patch+json. */
  readonly mergePatch?: true
  /** The cache-control of a success. A failure always gets `no-store`. */
  readonly cache?: string
  /** Why a success leaves no entry in an audit log. Every other write route must leave one. */
  readonly audit?: { readonly none: string }
  /**
   * Counted before `handle`. A request over any of them gets a 429. The cache refuses what it can before the database is asked.
   * A request with a session has already asked the database, which then counts alone.
   */
  readonly limits?: (input: LimitInput<Output<B>>) => readonly L[]
  /** 'own': `handle` counts the limits, and throws `rateLimited`. */
  readonly counting?: 'own'
  readonly handle: (
    context: RequestContext<
      R,
      A,
      N | AccessNeeds<A> | LimitNeeds<L, A>,
      Readonly<Record<ParamNames<R>, string>>,
      Output<Q>,
      Output<B>
    >,
  ) => Promise<Reply<Readable<Output<P>>>>
}

/** An endpoint as the pipeline sees it, without its type parameters. */
export interface Endpoint {
  readonly route: string
  readonly method: string
  readonly path: string
  readonly integerId: boolean
  readonly access: Access
  readonly summary: string
  readonly description: string | null
  /** All of them, also those that follow from the access, the limits and the audit entry. */
  readonly needs: readonly Need[]
  readonly query: Schema | null
  readonly body: Schema | null
  readonly reply: Schema | null
  readonly problems: readonly DeclaredProblem[]
  readonly cache: string
  readonly etag: boolean
  readonly form: boolean
  readonly mergePatch: boolean
  readonly audit: { readonly none: string } | null
  readonly limits: ((input: LimitInput<unknown>) => readonly Limit[]) | null
  readonly counting: 'own' | null
  readonly handle: (context: RequestContext<string, Access, Need, unknown, unknown, unknown>) => Promise<Reply>
}

/** An endpoint as the typed client sees it: its route, its schemas, and whether it has an ETag. */
export interface TypedEndpoint<R extends string, Q, B, P, E> extends Endpoint {
  readonly route: R
  readonly query: Q extends Schema ? Q : null
  readonly body: B extends Schema ? B : null
  readonly reply: P extends Schema ? P : null
  readonly etag: E extends true ? true : false
}

const ROUTE = /^(GET|POST|PUT|PATCH|DELETE) (\/[a-z0-9/{}._-]*)$/

const DEFAULTS = {
  description: null,
  integerId: false,
  query: null,
  body: null,
  reply: null,
  problems: [],
  cache: 'no-store',
  etag: false,
  form: false,
  mergePatch: false,
  audit: null,
  limits: null,
  counting: null,
}

/** Defines an endpoint: its route, who may call it, what it needs, its request and response schemas, and its handler. */
export function endpoint<
  const R extends string,
  const A extends Access,
  const N extends Need = never,
  Q extends Schema | undefined = undefined,
  B extends Schema | undefined = undefined,
  P extends Schema | undefined = undefined,
  L extends Limit = never,
  E extends true | undefined = undefined,
>(definition: Definition<R, A, N, L, Q, B, P, E>): TypedEndpoint<R, Q, B, P, E> {
  const [, method, path] = ROUTE.exec(definition.route) ?? []
  if (method === undefined || path === undefined) throw new Error(`Not a route: ${definition.route}`)
  const needs = [
    ...(definition.needs ?? []),
    ...(definition.access === 'service' ? SERVICE_NEEDS : []),
    ...(requiresSession(definition.access) ? SESSION_NEEDS : []),
    ...(definition.limits === undefined || requiresSession(definition.access) ? [] : LIMIT_NEEDS),
    ...(method === 'GET' || definition.audit !== undefined ? [] : AUDIT_NEEDS),
  ]
  // The pipeline fills the context by `access`, `needs` and the schemas, just as the definition's types say.
  return { ...DEFAULTS, ...definition, method, path, needs } as unknown as TypedEndpoint<R, Q, B, P, E>
}
