import type * as v from 'valibot'
import type { Api } from '#shared/client/api.ts'
import type { ParamNames } from '#shared/http/endpoint.ts'
import type { FieldError, ProblemBody, ProblemKind } from '#shared/problem.ts'

/** `METHOD /path/{param}`, as the endpoint's file writes it. */
export type Route = Api['route']

type EndpointOf<R extends Route> = Extract<Api, { readonly route: R }>
type OnTheWire<Schema> = Schema extends v.GenericSchema ? v.InferInput<Schema> : null
type InQuery<Fields> = { readonly [Name in keyof Fields]: Fields[Name] | number }
type Needed<Name extends string, Value> =
  Partial<Value> extends Value ? { readonly [_ in Name]?: Value } : { readonly [_ in Name]: Value }

/** What a route takes: its params, its query and its body, where it has them. */
export type RequestTo<R extends Route> = ([ParamNames<R>] extends [never]
  ? unknown
  : { readonly params: Readonly<Record<ParamNames<R>, string>> }) &
  (EndpointOf<R>['query'] extends null ? unknown : Needed<'query', InQuery<OnTheWire<EndpointOf<R>['query']>>>) &
  (EndpointOf<R>['body'] extends null ? unknown : { readonly body: OnTheWire<EndpointOf<R>['body']> })

/** The body that a route answers, null where it answers none. Times are text. */
export type ReplyOf<R extends Route> = OnTheWire<EndpointOf<R>['reply']>

/**
 * A failure that the service answered. `kind` is what to decide by; the service may come to know kinds that this
 * version of the client does not name.
 */
export class ProblemError extends Error {
  override name = 'ProblemError'
  readonly status: number
  readonly kind: ProblemKind | 'about:blank'
  /** The fields at fault, of a 422. */
  readonly errors: readonly FieldError[]
  /** When to try again, of a 429 and a 503; else null. */
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

export interface Client {
  /**
   * Calls a route. Rejects with ProblemError when the service refuses, and with what `fetch` rejects with when no
   * answer came.
   */
  readonly call: <R extends Route>(
    route: R,
    ...request: Partial<RequestTo<R>> extends RequestTo<R> ? [request?: RequestTo<R>] : [request: RequestTo<R>]
  ) => Promise<ReplyOf<R>>
}

/**
 * A client of the service at `baseUrl`, for browsers and servers alike: it imports nothing and needs `fetch`. With the
 * token of a session it acts for that session.
 */
export function createClient(options: {
  baseUrl: string
  token?: string
  /** In place of the global one. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>
}): Client {
  const { token, fetch: send = (url: string, init: RequestInit) => fetch(url, init) } = options
  const baseUrl = options.baseUrl.replace(/\/+$/, '')

  return {
    call: async (route, ...[request]) => {
      const { params = {}, query = {}, body }: UntypedRequest = request ?? {}
      const [method = '', path = ''] = route.split(' ')
      const response = await send(baseUrl + fill(path, params) + search(query), {
        method,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        credentials: 'omit',
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      if (!response.ok) throw await problemIn(response)
      return (response.status === 204 ? null : await response.json()) as ReplyOf<typeof route>
    },
  }
}

interface UntypedRequest {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: unknown
}

const fill = (path: string, params: Readonly<Record<string, string>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))

function search(query: Readonly<Record<string, string | number | undefined>>): string {
  const fields = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) fields.set(name, String(value))
  return fields.size === 0 ? '' : `?${fields.toString()}`
}

/** The problem of an answer, also of one that came from something before the service and has none. */
async function problemIn(response: Response): Promise<ProblemError> {
  const retryAfter = response.headers.get('retry-after')
  const plain: ProblemBody = { type: 'about:blank', title: response.statusText, status: response.status }
  const isProblem = response.headers.get('content-type')?.startsWith('application/problem+json') === true
  const problem: ProblemBody = isProblem ? ((await response.json().catch(() => plain)) as ProblemBody) : plain
  return new ProblemError(problem, retryAfter === null ? null : Number(retryAfter))
}
