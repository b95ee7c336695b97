import { randomUUID } from 'node:crypto'
import type middy from '@middy/core'
import type { APIGatewayProxyEvent, Context } from 'aws-lambda'
import type { ProxyResult } from '#shared/http/proxy-result.ts'
import type { Config } from '#shared/base/config.ts'
import { clientAddress } from '#shared/http/client-address.ts'
import { RequestHeaders } from '#shared/http/headers.ts'
import type { Endpoint } from '#shared/http/endpoint.ts'
import type { KeyedRequest } from '#shared/http/once.ts'
import type { ClientInfo } from '#shared/schema/client.ts'
import { UUID } from '#shared/schema/uuid.ts'
import type { Runtime } from '#shared/lambda/runtime.ts'
import type { SentServiceKey } from '#shared/identity/service-key.ts'
import type { Principal } from '#shared/identity/session.ts'

/** The state of a request. Each middleware fills in its part. */
export interface RequestState {
  readonly headers: RequestHeaders
  /** API Gateway's id of the request, which its access log also has. */
  readonly requestId: string
  readonly client: ClientInfo
  matched: {
    readonly endpoint: Endpoint
    readonly runtime: Runtime
    readonly params: unknown
  } | null
  principal: Principal | null
  /** The well-formed session token of the request. Nobody has checked it where no session is required. */
  sentToken: string | null
  /** The well-formed key of a service, on the routes for services. Nobody has checked it. */
  serviceKey: SentServiceKey | null
  /** The values of `If-Match`, as one list. */
  readonly ifMatch: string | null
  query: unknown
  body: unknown
  /** Of a request with an `Idempotency-Key`, on a route that takes one. */
  keyedRequest: KeyedRequest | null
}

/** The Lambda context with the request's state: middy passes only the context on to the handler. */
export type PipelineContext = Context & { request: RequestState }

/** A middleware of the pipeline. */
export type Middleware = middy.MiddlewareObj<APIGatewayProxyEvent, ProxyResult, Error, PipelineContext>

/** Returns the matched endpoint and its runtime. Throws before match-route has run. */
export function matched(state: RequestState): NonNullable<RequestState['matched']> {
  if (state.matched === null) throw new Error('no endpoint was matched')
  return state.matched
}

const REQUEST_ID = /^[A-Za-z0-9_-]{8,128}$/
const USER_AGENT_LENGTH = 512

/** Returns the id that the response carries: the client's own, or API Gateway's. */
export const responseId = ({ client, requestId }: RequestState): string => client.requestId ?? requestId

/** Builds the initial state from the API Gateway event. */
export function beginRequest(event: APIGatewayProxyEvent, { trustedProxies }: Config): RequestState {
  const headers = new RequestHeaders(event.multiValueHeaders)
  const sent = headers.get('x-request-id')
  const ifMatch = headers.all('if-match')
  return {
    headers,
    requestId: gatewayId(event),
    client: {
      ip: clientAddress(event, headers, trustedProxies),
      userAgent: headers.get('user-agent')?.toWellFormed().slice(0, USER_AGENT_LENGTH) ?? null,
      requestId: sent !== undefined && REQUEST_ID.test(sent) ? sent : null,
    },
    matched: null,
    principal: null,
    sentToken: null,
    serviceKey: null,
    ifMatch: ifMatch.length === 0 ? null : ifMatch.join(', '),
    query: null,
    body: null,
    keyedRequest: null,
  }
}

/** Returns API Gateway's id of the request, or a new one: a client may also set the first (x-amzn-requestid), to any text. */
export const gatewayId = ({ requestContext: { requestId } }: APIGatewayProxyEvent): string =>
  UUID.test(requestId) ? requestId : randomUUID()
