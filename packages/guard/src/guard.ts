import { type Decision, type InvokingClient, openDoor, type Question } from './door.ts'
import { credentialsOf, type GatewayEvent, isGet, requestIdOf, routeOf } from './event.ts'
import { DoorFailed } from './invoke-authorize.ts'
import { KeptDecisions } from './kept-decisions.ts'
import type { Principal } from './principal.ts'
import { Refusal, type RefusalKind } from './refusal.ts'

export type { InvokingClient } from './door.ts'
export type { GatewayEvent, HttpEvent, RestEvent } from './event.ts'
export type { Principal } from './principal.ts'
export { type ProxyResponse, Refusal } from './refusal.ts'

export interface GuardOptions {
  /** Name or ARN of Tenantry's function `authorize`, with its alias. TENANTRY_AUTHORIZE_FUNCTION by default. */
  readonly functionName?: string | undefined
  /** How long a request waits for the decision before it gets a 503. 2000 by default. */
  readonly timeoutMs?: number
  /**
   * 0 by default: each request is decided anew, so a revocation holds from the next request on. Up to 5: a GET may be
   * allowed for so many seconds after a revocation.
   */
  readonly maxStaleSeconds?: number
  /** The beginning of the `type` of a problem. TENANTRY_PROBLEM_BASE_URL by default. */
  readonly problemBaseUrl?: string
  /** A client of your own, for another region or account. Without one the guard needs no SDK in a Lambda. */
  readonly client?: InvokingClient
}

/** The permission that each route requires, by `METHOD /resource`. Null: every member of the tenant may. */
export type Routes = Readonly<Record<string, string | null>>

/** What a handler returns. */
interface Result {
  statusCode?: number
  headers?: Record<string, string | number | boolean> | undefined
  multiValueHeaders?: Record<string, (string | number | boolean)[]> | undefined
}

/** The part of a middy request that the middleware uses. */
interface MiddyRequest {
  event: GatewayEvent
  context: object
  response?: unknown
  error?: unknown
}

export interface GuardMiddleware {
  before(request: MiddyRequest): Promise<void>
  after(request: MiddyRequest): void
  onError(request: MiddyRequest): void
}

export interface Guard {
  /** Returns the principal of a request. Throws Refusal. Null requires no permission: every member of the tenant may. */
  authorize(event: GatewayEvent, permission: string | null): Promise<Principal>
  /** Returns a handler that calls `handle` for an allowed request of a listed route, and responds to any other itself. */
  protect<Event extends GatewayEvent, Context, Response extends object>(
    routes: Routes,
    handle: (event: Event, principal: Principal, context: Context) => Promise<Response>,
  ): (event: Event, context: Context) => Promise<Response>
  /** Returns a middleware for middy. It sets `principal` on the context. */
  middleware(routes: Routes): GuardMiddleware
}

const DEFAULT_TIMEOUT_MS = 2000
const MOST_STALE_SECONDS = 5
const DEFAULT_PROBLEM_BASE_URL = 'https://tenantry.example/problems'
const WARNING = 'TenantryGuard'
const ROUTE = /^[A-Z]+ \//

/** Creates the guard of a service. Create it once, outside of the handler. */
export function createGuard(options: GuardOptions = {}): Guard {
  const {
    functionName = process.env['TENANTRY_AUTHORIZE_FUNCTION'] ?? '',
    timeoutMs = DEFAULT_TIMEOUT_MS,
    maxStaleSeconds = 0,
    problemBaseUrl = process.env['TENANTRY_PROBLEM_BASE_URL'] ?? DEFAULT_PROBLEM_BASE_URL,
    client,
  } = options
  if (functionName === '') throw new Error('createGuard needs a functionName, or TENANTRY_AUTHORIZE_FUNCTION')
  if (!(timeoutMs > 0)) throw new RangeError('timeoutMs must be more than 0')
  if (!(maxStaleSeconds >= 0 && maxStaleSeconds <= MOST_STALE_SECONDS))
    throw new RangeError(`maxStaleSeconds must be from 0 to ${MOST_STALE_SECONDS}`)
  const ask = openDoor({ functionName, timeoutMs, client })
  const kept = new KeptDecisions(maxStaleSeconds * 1000)

  const refusal = (event: GatewayEvent, kind: RefusalKind, reason?: string): Refusal =>
    new Refusal(kind, { requestId: requestIdOf(event), problemBaseUrl, ...(reason === undefined ? {} : { reason }) })

  const authorize: Guard['authorize'] = async (event, permission) => {
    const authorization = credentialsOf(event)
    const question: Question = { authorization, permission, request_id: requestIdOf(event) }
    if (authorization.length === 0) throw refusal(event, 'no-credentials')
    const mayBeKept = maxStaleSeconds > 0 && isGet(event)
    const found = mayBeKept ? kept.find(question) : null
    if (found !== null) return found
    const askedAt = performance.now()
    let decision: Decision
    try {
      decision = await ask(question)
    } catch (error) {
      const reason = error instanceof DoorFailed ? error.message : 'the decision failed'
      // A handler that `protect` wraps never sees the reason. The log of the Lambda has it.
      process.emitWarning(`request ${question.request_id} gets a 503: ${reason}`, WARNING)
      throw refusal(event, 'unavailable', reason)
    }
    if (decision.outcome === 'refused') throw refusal(event, kindOf(decision, authorization))
    if (mayBeKept) kept.keep(question, decision.principal, askedAt)
    return decision.principal
  }

  /** Returns the refusal that an error stands for, also that of a transaction which the database refuses. */
  const refusalFor = (error: unknown, event: GatewayEvent): Refusal | null => {
    if (error instanceof Refusal) return error
    if (!(error instanceof Error && error.name === 'TenantRefused' && 'status' in error)) return null
    return refusal(event, error.status === 401 ? 'invalid-token' : 'forbidden')
  }

  const authorizeRoute = async (routes: Routes, event: GatewayEvent): Promise<Principal> => {
    const route = routeOf(event)
    const permission = Object.hasOwn(routes, route) ? routes[route] : undefined
    if (permission === undefined) throw refusal(event, 'no-route')
    return authorize(event, permission)
  }

  return {
    authorize,
    protect: (routes, handle) => {
      checkRoutes(routes)
      return async (event, context) => {
        try {
          const principal = await authorizeRoute(routes, event)
          return label(await handle(event, principal, context), event, principal)
        } catch (error) {
          const refused = refusalFor(error, event)
          if (refused === null) throw error
          // The type of the handler's own response may be narrower.
          return refused.response() as never
        }
      }
    },
    middleware: (routes) => {
      checkRoutes(routes)
      const principals = new WeakMap<object, Principal>()
      const labelled = (request: MiddyRequest): void => {
        const principal = principals.get(request.event)
        const { response } = request
        if (principal === undefined || typeof response !== 'object' || response === null) return
        request.response = label(response, request.event, principal)
      }
      return {
        before: async (request) => {
          const principal = await authorizeRoute(routes, request.event)
          principals.set(request.event, principal)
          Object.assign(request.context, { principal })
        },
        after: labelled,
        onError: (request) => {
          const refused = refusalFor(request.error, request.event)
          if (refused === null) labelled(request)
          else request.response = refused.response()
        },
      }
    },
  }
}

function checkRoutes(routes: Routes): void {
  for (const route of Object.keys(routes))
    if (!ROUTE.test(route)) throw new Error(`Not a route, such as GET /orders: ${route}`)
}

function kindOf({ status, slug }: Extract<Decision, { outcome: 'refused' }>, [first = '']: string[]): RefusalKind {
  if (status === 401) return /^bearer( |$)/i.test(first) ? 'invalid-token' : 'no-credentials'
  return slug === 'tenant-not-selected' ? slug : 'forbidden'
}

/** Returns the response with the ids of its tenant and request, in place of any that it has. */
function label<Response extends Result>(response: Response, event: GatewayEvent, principal: Principal): Response {
  const labels = { 'x-tenant-id': principal.tenant.id, 'x-request-id': requestIdOf(event) }
  const others = <Value>(headers: Record<string, Value> | undefined): Record<string, Value> =>
    Object.fromEntries(Object.entries(headers ?? {}).filter(([name]) => !Object.hasOwn(labels, name.toLowerCase())))
  return {
    ...response,
    headers: { ...others(response.headers), ...labels },
    ...(response.multiValueHeaders === undefined ? {} : { multiValueHeaders: others(response.multiValueHeaders) }),
  }
}
