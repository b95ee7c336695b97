import { randomUUID } from 'node:crypto'
import type middy from '@middy/core'
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from 'aws-lambda'
import type { Endpoint } from '#shared/http/endpoint.ts'
import type { ClientInfo } from '#shared/schema/client.ts'
import type { Runtime } from '#shared/runtime.ts'
import type { Principal } from '#shared/session/session.ts'

/** What the middleware know of a request so far; each fills in its own part. */
export interface RequestState {
  readonly requestId: string
  readonly client: ClientInfo
  matched: {
    readonly endpoint: Endpoint
    readonly runtime: Runtime
    readonly params: Readonly<Record<string, string>>
  } | null
  principal: Principal | null
  query: unknown
  body: unknown
}

/** The Lambda context, with the request's state: middy hands the context, and nothing else of its own, to the handler. */
export type PipelineContext = Context & { request: RequestState }

/** A middleware of the pipeline. */
export type Middleware = middy.MiddlewareObj<APIGatewayProxyEvent, APIGatewayProxyResult, Error, PipelineContext>

/** The matched endpoint and its runtime. Only what runs before match-route has none. */
export function matched(state: RequestState): NonNullable<RequestState['matched']> {
  if (state.matched === null) throw new Error('no endpoint was matched')
  return state.matched
}

const REQUEST_ID = /^[A-Za-z0-9_-]{8,128}$/
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const USER_AGENT_KEPT = 512

/**
 * The state of a request of which nothing is known but the gateway's event. A well-formed id that was sent is kept;
 * otherwise it is the gateway's own, by which its access log has the request too.
 */
export function beginRequest(event: APIGatewayProxyEvent): RequestState {
  const sent = header(event, 'x-request-id')
  return {
    requestId: sent !== undefined && REQUEST_ID.test(sent) ? sent : gatewayId(event),
    client: {
      ip: event.requestContext.identity.sourceIp,
      userAgent: header(event, 'user-agent')?.toWellFormed().slice(0, USER_AGENT_KEPT) ?? null,
    },
    matched: null,
    principal: null,
    query: null,
    body: null,
  }
}

// A client may set the gateway's id too (x-amzn-requestid).
const gatewayId = ({ requestContext: { requestId } }: APIGatewayProxyEvent): string =>
  UUID.test(requestId) ? requestId : randomUUID()

/** One header's value, whatever the case of its name. */
export function header(event: APIGatewayProxyEvent, name: string): string | undefined {
  for (const [key, value] of Object.entries(event.headers ?? {})) if (key.toLowerCase() === name) return value
  return undefined
}
