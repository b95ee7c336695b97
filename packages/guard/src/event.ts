import { randomUUID } from 'node:crypto'

type Headers = Readonly<Record<string, string | undefined>>
type MultiValueHeaders = Readonly<Record<string, readonly string[] | undefined>>

/** What the guard reads of the event of a REST API, or of an HTTP API with payload format 1.0. */
export interface RestEvent {
  readonly httpMethod: string
  readonly resource: string
  readonly path?: string
  readonly headers: Headers | null
  readonly multiValueHeaders: MultiValueHeaders | null
  readonly requestContext: { readonly requestId: string; readonly stage?: string }
}

/** What the guard reads of the event of an HTTP API with payload format 2.0, and of a function URL. */
export interface HttpEvent {
  readonly routeKey: string
  readonly rawPath?: string
  readonly headers: Headers
  readonly requestContext: {
    readonly requestId: string
    readonly stage?: string
    readonly http: { readonly method: string }
  }
}

/** What the guard reads of the event of an Application Load Balancer. */
export interface AlbEvent {
  readonly httpMethod: string
  readonly path: string
  readonly headers?: Headers
  readonly multiValueHeaders?: MultiValueHeaders
  readonly requestContext: { readonly elb: object }
}

export type GatewayEvent = RestEvent | HttpEvent | AlbEvent

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
/** How API Gateway names the route of a request that no other route matches. A function URL has no other. */
const DEFAULT_ROUTE = '$default'

const requestIds = new WeakMap<GatewayEvent, string>()

/**
 * Returns API Gateway's id of the request. It is a new one for a load balancer, which has none, and for a text in its place that
 * is no UUID: a client may send that.
 */
export function requestIdOf(event: GatewayEvent): string {
  const given = 'requestId' in event.requestContext ? event.requestContext.requestId : ''
  const known = requestIds.get(event) ?? (UUID.test(given) ? given : randomUUID())
  requestIds.set(event, known)
  return known
}

const isHttp = (event: GatewayEvent): event is HttpEvent => 'routeKey' in event
const isRest = (event: GatewayEvent): event is RestEvent => 'resource' in event

export const methodOf = (event: GatewayEvent): string =>
  isHttp(event) ? event.requestContext.http.method : event.httpMethod

/** Whether a load balancer wants the headers of the response as lists, which it then reads alone. */
export const wantsHeaderLists = (event: GatewayEvent): boolean =>
  'elb' in event.requestContext && 'multiValueHeaders' in event

/** The route that API Gateway chose, as `METHOD /resource`, or null when it chose none: then the path decides. */
const chosenRoute = (event: GatewayEvent): string | null => {
  if (isHttp(event)) return event.routeKey === DEFAULT_ROUTE ? null : event.routeKey
  if (isRest(event)) return event.resource === DEFAULT_ROUTE ? null : `${event.httpMethod} ${event.resource}`
  return null
}

/** The path as the client sent it, without the stage that API Gateway puts before it. */
function pathOf(event: GatewayEvent): string {
  const path = (isHttp(event) ? event.rawPath : event.path) ?? ''
  const stage = 'stage' in event.requestContext ? event.requestContext.stage : undefined
  return stage !== undefined && path.startsWith(`/${stage}/`) ? path.slice(stage.length + 1) : path
}

/** Returns the listed route of an event, or null. */
export function routeOf(event: GatewayEvent, routes: Readonly<Record<string, unknown>>): string | null {
  const chosen = chosenRoute(event)
  if (chosen === null) return routeOfPath(methodOf(event), pathOf(event), routes)
  return Object.hasOwn(routes, chosen) ? chosen : null
}

/**
 * Returns the listed route of a method and a path, or null. `{name}` is one segment, which is not empty. `{name+}` is the rest,
 * which may be empty after its slash. Of several routes the one with the longest fixed beginning is taken. Segments are compared as sent: `/%6frders` is not `/orders`.
 */
export function routeOfPath(method: string, path: string, routes: Readonly<Record<string, unknown>>): string | null {
  const segments = path.split('/')
  const matching = Object.keys(routes).filter((route) => {
    const [listed = '', resource = ''] = route.split(' ')
    return (listed === method || listed === 'ANY') && matches(resource.split('/'), segments)
  })
  const [best = null] = matching.toSorted((one, other) => (rank(one) < rank(other) ? -1 : 1))
  return best
}

const matches = (pattern: readonly string[], segments: readonly string[]): boolean =>
  pattern.at(-1)?.endsWith('+}') === true
    ? segments.length >= pattern.length && pattern.slice(0, -1).every((part, at) => fits(part, segments[at] ?? ''))
    : segments.length === pattern.length && pattern.every((part, at) => fits(part, segments[at] ?? ''))

const fits = (part: string, segment: string): boolean => (part.startsWith('{') ? segment !== '' : part === segment)

/** Sorts fixed segments before `{name}`, `{name}` before `{name+}`, and a method before `ANY`. */
const rank = (route: string): string => {
  const [method, resource = ''] = route.split(' ')
  const parts = resource.split('/').map((part) => (part.startsWith('{') ? (part.endsWith('+}') ? '2' : '1') : '0'))
  return `${parts.join('')} ${method === 'ANY' ? '1' : '0'}`
}

/** Returns every value of the Authorization headers. */
export function credentialsOf(event: GatewayEvent): string[] {
  const headers = 'multiValueHeaders' in event ? (event.multiValueHeaders ?? event.headers) : event.headers
  return Object.entries(headers ?? {}).flatMap(([name, value = []]) =>
    name.toLowerCase() === 'authorization' ? value : [],
  )
}
