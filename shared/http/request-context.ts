import type { Config } from '#shared/base/config.ts'
import type { AnyGrant, DeclaredAccess, Granted } from '#shared/http/access.ts'
import type { DatabaseRole, Need } from '#shared/base/needs.ts'
import type { RuntimeFor } from '#shared/lambda/runtime.ts'
import type { ClientInfo } from '#shared/schema/client.ts'
import type { Principal } from '#shared/identity/session.ts'

/** The names of the parameters in a route. */
export type ParamNames<Route extends string> = Route extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamNames<Rest>
  : never

/** The parameters of a route. */
export type Params<Route extends string> = Readonly<Record<ParamNames<Route>, string>>

/** A parsed request. */
interface ParsedRequest<N extends Need, PathParams, Query, Body> {
  readonly params: PathParams
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
export type RequestContext<Route extends string, A extends DeclaredAccess, N extends Need, Query, Body> = ParsedRequest<
  N,
  Params<Route>,
  Query,
  Body
> &
  ('database' extends N ? Granted<A, Route> : Omit<Granted<A, Route>, 'sql' | 'call'>)

/** The request context as the pipeline fills it, for any endpoint. */
export type FilledContext = ParsedRequest<Need, unknown, unknown, unknown> & AnyGrant

/** The input for the limits of an endpoint. */
export interface LimitInput<Body> {
  readonly body: Body
  readonly principal: Principal | null
  readonly client: ClientInfo
  readonly config: Config
  readonly pepper: string
}
