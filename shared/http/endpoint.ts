import type * as v from 'valibot'
import type { Config } from '#shared/config.ts'
import {
  type Access,
  type AnyGrant,
  type DeclaredAccess,
  type Granted,
  type NeedsOf,
  needsOf,
  type Opener,
  parseAccess,
} from '#shared/http/access.ts'
import type { ProblemKind } from '#shared/problem.ts'
import type { Reply } from '#shared/http/reply.ts'
import type { DatabaseRole, Need } from '#shared/needs.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'
import type { RuntimeFor } from '#shared/runtime.ts'
import type { ClientInfo } from '#shared/schema/client.ts'
import type { Principal } from '#shared/session/session.ts'

/** The need that follows from an audit entry: the entry may be published. */
const AUDIT_NEEDS = ['invoke:publish-events'] as const

/** The names of the parameters in a route. */
export type ParamNames<Route extends string> = Route extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never

/** A parsed request. */
interface ParsedRequest<N extends Need, Params, Query, Body> {
  readonly params: Params
  readonly query: Query
  readonly body: Body
  /** The session token of the request, well-formed and not checked. */
  readonly sentToken: string | null
  readonly client: ClientInfo
  readonly requestId: string
  /** The value of `If-Match`, for `requireMatch` of an endpoint with an `etag`. */
  readonly ifMatch: string | null
  /** It has no `database`: the access grants the ways there, so that nothing is written outside of its checks. */
  readonly runtime: RuntimeFor<Exclude<N, 'database' | `database:${DatabaseRole}`>>
}

/** A parsed and authorized request, for `handle`. It has `sql` and `call` only if the endpoint needs a database. */
export type RequestContext<
  Route extends string,
  A extends DeclaredAccess,
  N extends Need,
  Params,
  Query,
  Body,
> = ParsedRequest<N, Params, Query, Body> &
  ('database' extends N ? Granted<A, Route> : Omit<Granted<A, Route>, 'sql' | 'call'>)

/** The request context as the pipeline fills it, for any endpoint. */
type FilledContext = ParsedRequest<Need, unknown, unknown, unknown> & AnyGrant

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
  A extends DeclaredAccess,
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
  /** Who may call, and who opens the transactions: see shared/http/access.ts. */
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
  readonly handle: (
    context: RequestContext<R, A, N | NeedsOf<A, L>, Readonly<Record<ParamNames<R>, string>>, Output<Q>, Output<B>>,
  ) => Promise<Reply<Readable<Output<P>>>>
}

/** An endpoint as the pipeline sees it, without its type parameters. */
export interface Endpoint {
  readonly route: string
  readonly method: string
  readonly path: string
  readonly integerId: boolean
  readonly access: Access
  /** Who opens the transactions; null: the pipeline. */
  readonly opener: Opener | null
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
  readonly handle: (context: FilledContext) => Promise<Reply>
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
}

/** Defines an endpoint: its route, who may call it, what it needs, its request and response schemas, and its handler. */
export function endpoint<
  const R extends string,
  const A extends DeclaredAccess,
  const N extends Need = never,
  Q extends Schema | undefined = undefined,
  B extends Schema | undefined = undefined,
  P extends Schema | undefined = undefined,
  L extends Limit = never,
  E extends true | undefined = undefined,
>(definition: Definition<R, A, N, L, Q, B, P, E>): TypedEndpoint<R, Q, B, P, E> {
  const [, method, path] = ROUTE.exec(definition.route) ?? []
  if (method === undefined || path === undefined) throw new Error(`Not a route: ${definition.route}`)
  const { access, opener } = parseAccess(definition.access)
  const needs = [
    ...(definition.needs ?? []),
    ...needsOf(access, definition.limits !== undefined),
    ...(method === 'GET' || definition.audit !== undefined ? [] : AUDIT_NEEDS),
  ]
  // The pipeline fills the context by `access`, `needs` and the schemas, just as the definition's types say.
  return { ...DEFAULTS, ...definition, access, opener, method, path, needs } as unknown as TypedEndpoint<R, Q, B, P, E>
}
