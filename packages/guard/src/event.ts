import { randomUUID } from 'node:crypto'

type Headers = Readonly<Record<string, string | undefined>>

/** What the guard reads of the event of a REST API, or of an HTTP API with payload format 1.0. */
export interface RestEvent {
  readonly httpMethod: string
  readonly resource: string
  readonly headers: Headers | null
  readonly multiValueHeaders: Readonly<Record<string, readonly string[] | undefined>> | null
  readonly requestContext: { readonly requestId: string }
}

/** What the guard reads of the event of an HTTP API with payload format 2.0. */
export interface HttpEvent {
  readonly routeKey: string
  readonly headers: Headers
  readonly requestContext: { readonly requestId: string; readonly http: { readonly method: string } }
}

export type GatewayEvent = RestEvent | HttpEvent

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

const requestIds = new WeakMap<GatewayEvent, string>()

/** Returns API Gateway's id of the request. A client may send another text in its place: then it is a new id. */
export function requestIdOf(event: GatewayEvent): string {
  const { requestId } = event.requestContext
  const known = requestIds.get(event) ?? (UUID.test(requestId) ? requestId : randomUUID())
  requestIds.set(event, known)
  return known
}

/** Returns `METHOD /resource`. */
export const routeOf = (event: GatewayEvent): string =>
  'routeKey' in event ? event.routeKey : `${event.httpMethod} ${event.resource}`

export const isGet = (event: GatewayEvent): boolean =>
  ('routeKey' in event ? event.requestContext.http.method : event.httpMethod) === 'GET'

/** Returns every value of the Authorization headers. */
export function credentialsOf(event: GatewayEvent): string[] {
  const headers = 'multiValueHeaders' in event ? (event.multiValueHeaders ?? event.headers) : event.headers
  return Object.entries(headers ?? {}).flatMap(([name, value = []]) =>
    name.toLowerCase() === 'authorization' ? value : [],
  )
}
