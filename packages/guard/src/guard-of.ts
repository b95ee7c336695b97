import { randomUUID } from 'node:crypto'
import type { Ask, Decision, Question } from './door.ts'
import {
  credentialsOf,
  type GatewayEvent,
  methodOf,
  requestIdOf,
  routeOf,
  routeOfPath,
  wantsHeaderLists,
} from './event.ts'
import { DoorFailed } from './invoke-authorize.ts'
import { KeptDecisions } from './kept-decisions.ts'
import { label, type Result } from './label.ts'
import type { MiddyRequest } from './middy-request.ts'
import type { Permission } from './permission.ts'
import type { AnyPrincipal, PrincipalKind, PrincipalOfKind, PrincipalOptions } from './principal.ts'
import { Refusal, type RefusalKind } from './refusal.ts'
import { checkRoutes, type PrincipalOf, type Routes } from './routes.ts'
import { checkStepUp, type StepUpOptions } from './step-up.ts'
import type { TenantRefused } from './tenant-transaction.ts'

/** A request of any server: of Node, Express, Fastify, or what an adapter makes of one. */
export interface GuardedRequest {
  /** Every value of its Authorization headers. Two are refused. */
  readonly authorization: string | readonly string[] | null | undefined
  /** GET by default. Only the decision of a GET may be kept, with `maxStaleSeconds`. */
  readonly method?: string
  /** A UUID of yours for the logs of both services, never a text of the client. A new one by default. */
  readonly requestId?: string
}

/** For middy. It sets `principal` on the context. */
export interface GuardMiddleware<Found> {
  before(request: MiddyRequest<Found>): Promise<void>
  after(request: MiddyRequest<Found>): void
  onError(request: MiddyRequest<Found>): void
}

/** Who may call, and what a session must have proven. An API key is refused where a step-up or no permission is required. */
export interface AuthorizeOptions<Kind extends PrincipalKind = 'session'>
  extends StepUpOptions,
    PrincipalOptions<Kind> {}

export interface Guard {
  /** Returns the principal of a request. Rejects with Refusal. Null requires no permission: every member of the tenant may. */
  authorize<Kind extends PrincipalKind = 'session'>(
    event: GatewayEvent,
    permission: Permission | null,
    options?: AuthorizeOptions<Kind>,
  ): Promise<PrincipalOfKind<Kind>>
  /** The same for a request of any server. */
  authorizeRequest<Kind extends PrincipalKind = 'session'>(
    request: GuardedRequest,
    permission: Permission | null,
    options?: AuthorizeOptions<Kind>,
  ): Promise<PrincipalOfKind<Kind>>
  /** The same for a method and a path, by listed routes. Returns null for a public route. */
  authorizeRoute<const Listed extends Routes>(
    request: GuardedRequest & { readonly path: string },
    routes: Listed,
  ): Promise<PrincipalOf<Listed>>
  /** Returns the refusal that an error stands for, also a TenantRefused, or null. For adapters of other servers. */
  refusalOf(error: unknown, requestId?: string): Refusal | null
  /** Returns a handler that calls `handle` for an allowed request of a listed route, and responds to any other itself. */
  protect<Event extends GatewayEvent, Context, Response extends object, const Listed extends Routes>(
    routes: Listed,
    handle: (event: Event, principal: PrincipalOf<Listed>, context: Context) => Promise<Response>,
  ): (event: Event, context: Context) => Promise<Response>
  /** Returns a middleware for middy. It sets `principal` on the context. */
  middleware<const Listed extends Routes>(routes: Listed): GuardMiddleware<PrincipalOf<Listed>>
}

interface Credentials {
  readonly authorization: readonly string[]
}

type Refused = Extract<Decision, { outcome: 'refused' }>

const DEFAULT_PROBLEM_BASE_URL = 'https://tenantry.example/problems'
const WARNING = 'TenantryGuard'

/** Creates a guard that asks by `ask`. */
export function guardOf(
  ask: Ask,
  {
    maxStaleSeconds = 0,
    problemBaseUrl = process.env['TENANTRY_PROBLEM_BASE_URL'] ?? DEFAULT_PROBLEM_BASE_URL,
  }: { readonly maxStaleSeconds?: number; readonly problemBaseUrl?: string | undefined } = {},
): Guard {
  const kept = new KeptDecisions(maxStaleSeconds * 1000)
  const refusal = (requestId: string, kind: RefusalKind, reason?: string): Refusal =>
    new Refusal(kind, { requestId, problemBaseUrl, ...(reason === undefined ? {} : { reason }) })

  /** A handler that `protect` wraps never sees the reason. The log of the Lambda has it. */
  const unavailable = (requestId: string, reason: string): Refusal => {
    process.emitWarning(`request ${requestId} gets a 503: ${reason}`, WARNING)
    return refusal(requestId, 'unavailable', reason)
  }

  const decide = async (question: Question, mayBeKept: boolean): Promise<AnyPrincipal> => {
    const { authorization, request_id: requestId } = question
    if (authorization.length === 0) throw refusal(requestId, 'no-credentials')
    const found = mayBeKept ? kept.find(question) : null
    if (found !== null) return found
    const askedAt = performance.now()
    let decision: Decision
    try {
      decision = await ask(question)
    } catch (error) {
      throw unavailable(requestId, error instanceof DoorFailed ? error.message : 'the decision failed')
    }
    if (decision.outcome === 'refused') throw refusedBy(decision, question)
    // The type of the principal follows from the kinds that were asked for.
    if (!question.principals.includes(decision.principal.kind)) throw refusal(requestId, 'forbidden')
    if (mayBeKept) kept.keep(question, decision.principal, askedAt)
    return decision.principal
  }
  const refusedBy = (decision: Refused, { authorization, request_id: requestId }: Question): Refusal =>
    decision.status === 429
      ? new Refusal('rate-limited', { requestId, problemBaseUrl, headers: decision.headers })
      : refusal(requestId, kindOf(decision, authorization))

  const askAbout = async (
    { authorization, method, requestId }: Required<Pick<GuardedRequest, 'method' | 'requestId'>> & Credentials,
    permission: Permission | null,
    options: AuthorizeOptions<PrincipalKind>,
  ): Promise<AnyPrincipal> => {
    const question: Question = {
      authorization,
      permission,
      principals: options.principals ?? ['session'],
      step_up_seconds: checkStepUp(options),
      request_id: requestId,
    }
    return decide(question, maxStaleSeconds > 0 && method === 'GET' && question.step_up_seconds === null)
  }

  // `decide` returns no principal of another kind.
  const authorize: Guard['authorize'] = async (event, permission, options = {}) =>
    askAbout(
      { authorization: credentialsOf(event), method: methodOf(event), requestId: requestIdOf(event) },
      permission,
      options,
    ) as never
  const authorizeRequest: Guard['authorizeRequest'] = async (request, permission, options = {}) => {
    const { authorization, method = 'GET', requestId = randomUUID() } = request
    return askAbout({ authorization: [authorization ?? []].flat(), method, requestId }, permission, options) as never
  }
  const authorizeRoute: Guard['authorizeRoute'] = async ({ path, ...request }, routes) => {
    const { requestId = randomUUID(), method = 'GET' } = request
    const required = requiredBy(routes, routeOfPath(method, path, routes))
    if (required === undefined) throw refusal(requestId, 'no-route')
    if (required === 'public') return null as never
    const { permission, ...options } = requirementOf(required)
    return authorizeRequest({ ...request, requestId }, permission, options) as never
  }
  const authorizeEvent = async (event: GatewayEvent, routes: Routes): Promise<AnyPrincipal | null> => {
    const required = requiredBy(routes, routeOf(event, routes))
    if (required === undefined) throw refusal(requestIdOf(event), 'no-route')
    if (required === 'public') return null
    const { permission, ...options } = requirementOf(required)
    return authorize(event, permission, options)
  }

  const refusalOf = (error: unknown, requestId: string = randomUUID()): Refusal | null => {
    if (error instanceof Refusal) return error
    if (!isTenantRefused(error)) return null
    if (error.status === 503) return unavailable(requestId, error.message)
    return refusal(requestId, error.status === 401 ? 'invalid-token' : (error.slug ?? 'forbidden'))
  }

  return {
    authorize,
    authorizeRequest,
    authorizeRoute,
    refusalOf,
    protect: (routes, handle) => {
      checkRoutes(routes)
      return async (event, context) => {
        try {
          const principal = await authorizeEvent(event, routes)
          // What the type of the handler says: null only for a public route, a key only where the routes accept one.
          return label(await handle(event, principal as never, context), event, principal)
        } catch (error) {
          const refused = refusalOf(error, requestIdOf(event))
          if (refused === null) throw error
          // The type of the handler's own response may be narrower.
          return refused.response(wantsHeaderLists(event)) as never
        }
      }
    },
    middleware: (routes) => {
      checkRoutes(routes)
      const principals = new WeakMap<object, AnyPrincipal>()
      const labelled = (request: { event: GatewayEvent; response?: unknown }): void => {
        const { response } = request
        if (typeof response !== 'object' || response === null) return
        const labels: Result = label(response, request.event, principals.get(request.event) ?? null)
        request.response = labels
      }
      return {
        before: async (request) => {
          const principal = await authorizeEvent(request.event, routes)
          if (principal !== null) principals.set(request.event, principal)
          Object.assign(request.context, { principal })
        },
        after: labelled,
        onError: (request) => {
          const refused = refusalOf(request.error, requestIdOf(request.event))
          if (refused === null) labelled(request)
          else request.response = refused.response(wantsHeaderLists(request.event))
        },
      }
    },
  }
}

/** Returns what a route requires, or undefined for no route. */
const requiredBy = (routes: Routes, route: string | null): Routes[string] | undefined =>
  route === null ? undefined : routes[route]

const requirementOf = (required: Exclude<Routes[string], 'public'>) =>
  typeof required === 'object' && required !== null ? required : { permission: required }

/** By name, because the package's formats for `import` and `require` each have a class of their own. */
const isTenantRefused = (error: unknown): error is TenantRefused =>
  error instanceof Error && error.name === 'TenantRefused' && 'status' in error

function kindOf(
  { status, slug }: Extract<Refused, { status: 401 | 403 }>,
  [first = '']: readonly string[],
): RefusalKind {
  if (status === 401) return /^bearer( |$)/i.test(first) ? 'invalid-token' : 'no-credentials'
  return slug === 'tenant-not-selected' || slug === 'step-up-required' ? slug : 'forbidden'
}
