import * as v from 'valibot'
import {
  type Access,
  type DeclaredAccess,
  type NeedsOf,
  needsOf,
  type Opener,
  parseAccess,
} from '#shared/http/access.ts'
import { JSON_TYPE, type MediaType } from '#shared/http/media-type.ts'
import type { FileType, Reply } from '#shared/http/reply.ts'
import type { FilledContext, LimitInput, Params, RequestContext } from '#shared/http/request-context.ts'
import type { Need } from '#shared/base/needs.ts'
import type { StepUp } from '#shared/identity/step-up.ts'
import type { ProblemKind } from '#shared/base/problem.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'
import { PathId } from '#shared/schema/id.ts'

type Schema = v.GenericSchema<unknown, unknown>
/** The schema of a query. Its entries are all the keys that the route knows. */
type QuerySchema = Schema & { readonly entries: object }
type Output<S extends Schema | null> = S extends Schema ? v.InferOutput<S> : null

type Readable<T> = T extends object ? { readonly [Name in keyof T]: Readable<T[Name]> } : T

/** A problem that the endpoint throws: a status of type `about:blank`, or a kind, with the schema of its members if any. */
export type DeclaredProblem = 401 | 403 | 404 | ProblemKind | { readonly kind: ProblemKind; readonly members: Schema }

/** What an endpoint's file declares. `Limited` is `never` without limits, `File` without files. */
interface Definition<
  Route extends string,
  Who extends DeclaredAccess,
  Needed extends Need,
  Query extends QuerySchema | null,
  Body extends Schema | null,
  Result extends Schema | null,
  Limited extends Limit,
  File extends FileType,
> {
  /** `METHOD /path/{param}`. */
  readonly route: Route
  /** An object schema of the parameters. Text that does not parse gets a 404. Without a schema, each is a UUID. */
  readonly params?: v.GenericSchema<Params<Route>>
  /** Who may call, who opens the transactions, and whether a step-up is needed: see shared/http/access.ts. */
  readonly access: Who
  /** What the endpoint does, in a few words, for the API document. */
  readonly summary: string
  /** What a caller must know beyond the summary, for the API document. */
  readonly description?: string
  /** What `handle` reaches, beyond what follows from the access and the limits. */
  readonly needs?: readonly Needed[]
  /** An object schema. A key that it does not have is a 422. */
  readonly query?: Query
  readonly body?: Body
  /** The media types that the body may have. Without this, it is JSON. */
  readonly accepts?: readonly MediaType[]
  /** The JSON body of a success. `handle` returns the schema's output, a client gets its input. Without a schema: 204. */
  readonly reply?: Result
  /** The media types of a success that is a file instead: `handle` returns `file`. */
  readonly files?: readonly File[]
  /** The problems that do not follow from the access, the parameters, the query, the body and the limits. */
  readonly problems?: readonly DeclaredProblem[]
  /** Whether the response carries an ETag, and a write compares `If-Match` under its lock: see shared/http/etag.ts. */
  readonly etag?: true
  /** The cache-control of a success. A failure always gets `no-store`. */
  readonly cache?: string
  /** A repeated POST does no harm, so it takes no `Idempotency-Key`: see shared/http/once.ts. */
  readonly repeatable?: true
  /** It takes access from somebody: it ends the connections that block it. See shared/db/without-veto.ts. */
  readonly revokes?: true
  /** Why a success leaves no entry in an audit log. Every other write route must leave one. */
  readonly audit?: { readonly none: string }
  /**
   * Counted before `handle`. A request over any of them gets a 429. The cache refuses what it can before the database is asked.
   * A request with a session has already asked the database, which then counts alone.
   */
  readonly limits?: (input: LimitInput<Output<Body>>) => readonly Limited[]
  readonly handle: (
    context: RequestContext<Route, Who, Needed | NeedsOf<Who, Limited>, Output<Query>, Output<Body>>,
  ) => Promise<Reply<Readable<Output<Result>> | ([File] extends [never] ? never : string)>>
}

/** An endpoint as the pipeline sees it, without its type parameters. */
export interface Endpoint {
  readonly route: string
  readonly method: string
  readonly path: string
  readonly params: Schema
  readonly access: Access
  /** Who opens the transactions; null: the pipeline. */
  readonly opener: Opener | null
  readonly stepUp: StepUp | null
  readonly summary: string
  readonly description: string | null
  /** All of them, also those that follow from the access, the limits and the audit entry. */
  readonly needs: readonly Need[]
  readonly query: QuerySchema | null
  readonly body: Schema | null
  readonly accepts: readonly MediaType[]
  readonly reply: Schema | null
  readonly files: readonly FileType[]
  readonly problems: readonly DeclaredProblem[]
  readonly cache: string
  readonly etag: boolean
  readonly repeatable: boolean
  readonly revokes: boolean
  readonly audit: { readonly none: string } | null
  readonly limits: ((input: LimitInput<unknown>) => readonly Limit[]) | null
  readonly handle: (context: FilledContext) => Promise<Reply>
}

/** An endpoint as the typed client sees it: its route and its schemas. */
export interface TypedEndpoint<Route extends string, Query, Body, Result> extends Endpoint {
  readonly route: Route
  readonly query: Query & (QuerySchema | null)
  readonly body: Body & (Schema | null)
  readonly reply: Result & (Schema | null)
}

const ROUTE = /^(GET|POST|PUT|PATCH|DELETE) (\/[a-z0-9/{}._-]*)$/

const DEFAULTS = {
  description: null,
  query: null,
  body: null,
  accepts: [JSON_TYPE],
  reply: null,
  files: [],
  problems: [],
  cache: 'no-store',
  etag: false,
  repeatable: false,
  revokes: false,
  audit: null,
  limits: null,
}

/** The need that follows from an audit entry: the entry may be published. */
const AUDIT_NEEDS = ['invoke:publish-events'] as const

/** Defines an endpoint: its route, who may call it, what it needs, its request and response schemas, and its handler. */
export function endpoint<
  const Route extends string,
  const Who extends DeclaredAccess,
  const Needed extends Need = never,
  Query extends QuerySchema | null = null,
  Body extends Schema | null = null,
  Result extends Schema | null = null,
  Limited extends Limit = never,
  const File extends FileType = never,
>(
  definition: Definition<Route, Who, Needed, Query, Body, Result, Limited, File>,
): TypedEndpoint<Route, Query, Body, Result> {
  const [, method, path] = ROUTE.exec(definition.route) ?? []
  if (method === undefined || path === undefined) throw new Error(`Not a route: ${definition.route}`)
  const { access, opener, stepUp } = parseAccess(definition.access)
  const needs = [
    ...(definition.needs ?? []),
    ...needsOf(access, definition.limits !== undefined),
    ...(method === 'GET' || definition.audit !== undefined ? [] : AUDIT_NEEDS),
  ]
  const declared = { ...DEFAULTS, params: idsOf(path), ...definition, access, opener, stepUp, method, path, needs }
  // The pipeline fills the context by `access`, `needs` and the schemas, just as the definition's types say.
  return declared as unknown as TypedEndpoint<Route, Query, Body, Result>
}

/** Returns the schema of the parameters of a path, each a UUID. */
const idsOf = (path: string): Schema =>
  v.object(Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, PathId])))
