import type * as v from 'valibot'
import type { Api, RouteForKeys, RouteWithEtag } from '#shared/client/api.ts'
import type { FieldError } from '#shared/schema/field-error.ts'
import type { ParamNames } from '#shared/http/request-context.ts'
import type { ProblemBody, ProblemKind } from '#shared/base/problem.ts'

/** `METHOD /path/{param}`, as the endpoint declares it. */
export type Route = Api['route']

type EndpointOf<R extends Route> = Extract<Api, { readonly route: R }>
type OnTheWire<Schema> = Schema extends v.GenericSchema ? v.InferInput<Schema> : null
type InQuery<Fields> = { readonly [Name in keyof Fields]: Fields[Name] | number }
type Needed<Name extends string, Value> =
  Partial<Value> extends Value ? { readonly [_ in Name]?: Value } : { readonly [_ in Name]: Value }

/**
 * The request of a route: its params, query and body, if it has them. `ifMatch`: the write requires this ETag, or is a 412.
 * `idempotencyKey`: a retry of a POST in a tenant with the same key changes nothing, and gets the first success again.
 */
export type RequestTo<R extends Route> = ([ParamNames<R>] extends [never]
  ? unknown
  : { readonly params: Readonly<Record<ParamNames<R>, string>> }) &
  (EndpointOf<R>['query'] extends null ? unknown : Needed<'query', InQuery<OnTheWire<EndpointOf<R>['query']>>>) &
  (EndpointOf<R>['body'] extends null ? unknown : { readonly body: OnTheWire<EndpointOf<R>['body']> }) &
  (R extends RouteWithEtag
    ? R extends `GET ${string}`
      ? unknown
      : { readonly ifMatch?: string | undefined }
    : unknown) &
  (R extends `POST ${string}` ? { readonly idempotencyKey?: string | undefined } : unknown)

/** The body of a route's response, or null if it has none. Times are text. */
export type ReplyOf<R extends Route> = OnTheWire<EndpointOf<R>['reply']>

/** A failure response. Decide by `kind`; a later version of the service may send kinds that are not in the type. */
export class ProblemError extends Error {
  override name = 'ProblemError'
  readonly status: number
  readonly kind: ProblemKind | 'about:blank'
  /** The invalid fields, for a 422. */
  readonly errors: readonly FieldError[]
  /** When to retry, for a 429 or 503; else null. */
  readonly retryAfterSeconds: number | null
  readonly problem: ProblemBody

  constructor(problem: ProblemBody, retryAfterSeconds: number | null) {
    super(problem.detail ?? problem.title)
    this.status = problem.status
    this.kind = problem.type.slice(problem.type.lastIndexOf('/') + 1) as ProblemKind | 'about:blank'
    this.errors = Array.isArray(problem['errors']) ? problem['errors'] : []
    this.retryAfterSeconds = retryAfterSeconds
    this.problem = problem
  }
}

type Arguments<R extends Route> =
  Partial<RequestTo<R>> extends RequestTo<R> ? [request?: RequestTo<R>] : [request: RequestTo<R>]

/** `Open`: the routes that its credential may call. */
export interface Client<Open extends Route = Route> {
  /** Calls a route. Throws ProblemError for a failure response, and the error of `fetch` if there is no response. */
  readonly call: <R extends Open>(route: R, ...request: Arguments<R>) => Promise<ReplyOf<R>>
  /** Calls a route, and returns the ETag of the response beside its body. */
  readonly callWithEtag: <R extends RouteWithEtag & Open>(
    route: R,
    ...request: Arguments<R>
  ) => Promise<{ readonly body: ReplyOf<R>; readonly etag: string }>
  /** Calls a route whose response is a file, and returns its text. */
  readonly callForFile: <R extends Open>(route: R, ...request: Arguments<R>) => Promise<string>
}

/** A request that a client sends. `path` has the names of its params in braces. */
export interface ClientRequest {
  readonly method: string
  readonly path: string
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

/** What a client reads of a response. That of `fetch` is one. */
export interface ClientResponse extends Pick<Response, 'ok' | 'status' | 'statusText' | 'json' | 'text'> {
  readonly headers: Pick<Headers, 'get'>
}

/** Sends a request. Throws when there is no response. */
export type Send = (request: ClientRequest) => Promise<ClientResponse>

type Fetch = (url: string, init: RequestInit) => Promise<Response>

type Reached = { baseUrl: string; fetch?: Fetch } | { send: Send }

interface Credential {
  readonly token?: string
  readonly apiKey?: string
  readonly serviceKey?: { readonly name: string; readonly key: string }
}

/**
 * Returns a client of the service at `baseUrl`, or of the one that `send` reaches. It has no imports and runs wherever `fetch`
 * exists. It sends `token`, an API key of a tenant, or the name and key of a service, with every request. With an API key only the
 * routes that keys may call compile.
 */
export function createClient(options: { apiKey: string } & Reached): Client<RouteForKeys>
export function createClient(options: Omit<Credential, 'apiKey'> & Reached): Client
export function createClient(options: Credential & Reached): Client {
  const { serviceKey, apiKey, token = apiKey } = options
  // No character of a name or a key needs the encoding of RFC 6749, section 2.3.1.
  const basic = serviceKey === undefined ? undefined : `Basic ${btoa(`${serviceKey.name}:${serviceKey.key}`)}`
  const authorization = token === undefined ? basic : `Bearer ${token}`
  const send = 'send' in options ? options.send : sendBy(options.baseUrl, options.fetch)

  const sendTo = async <R extends Route>(route: R, ...[sent]: Arguments<R>): Promise<ClientResponse> => {
    const { params = {}, query = {}, body, ifMatch, idempotencyKey }: UntypedRequest = sent ?? {}
    const [method = '', path = ''] = route.split(' ')
    const fields = new URLSearchParams()
    for (const [name, value] of Object.entries(query)) if (value !== undefined) fields.set(name, String(value))
    const response = await send({
      method,
      path,
      params,
      query: fields,
      headers: {
        ...(authorization === undefined ? {} : { authorization }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    })
    if (!response.ok) throw await toProblemError(response)
    return response
  }
  const callWithEtag = async <R extends Route>(route: R, ...request: Arguments<R>) => {
    const response = await sendTo(route, ...request)
    const reply = (response.status === 204 ? null : await response.json()) as ReplyOf<R>
    return { body: reply, etag: response.headers.get('etag') ?? '' }
  }
  return {
    callWithEtag,
    call: async (route, ...request) => (await callWithEtag(route, ...request)).body,
    callForFile: async (route, ...request) => (await sendTo(route, ...request)).text(),
  }
}

interface UntypedRequest {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: unknown
  readonly ifMatch?: string | undefined
  readonly idempotencyKey?: string | undefined
}

/** Returns the transport over HTTP, by `fetch` or what replaces it. */
function sendBy(baseUrl: string, use: Fetch = (url, init) => fetch(url, init)): Send {
  const base = baseUrl.replace(/\/+$/, '')
  return ({ method, path, params, query, headers, body }) => {
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
    const search = query.size === 0 ? '' : `?${query.toString()}`
    return use(base + filled + search, { method, headers, credentials: 'omit', ...(body === null ? {} : { body }) })
  }
}

/** Returns the problem of a response, or `about:blank` if it has none, such as a response of a proxy. */
async function toProblemError(response: ClientResponse): Promise<ProblemError> {
  const retryAfter = response.headers.get('retry-after')
  const plain: ProblemBody = { type: 'about:blank', title: response.statusText, status: response.status }
  const isProblem = response.headers.get('content-type')?.startsWith('application/problem+json') === true
  const problem: ProblemBody = isProblem ? ((await response.json().catch(() => plain)) as ProblemBody) : plain
  return new ProblemError(problem, retryAfter === null ? null : Number(retryAfter))
}
