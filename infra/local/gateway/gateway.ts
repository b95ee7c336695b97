import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { APIGatewayProxyEvent } from 'aws-lambda'
import type { ProxyResult } from '#shared/http/proxy-result.ts'
import {
  type GatewayFailure,
  type GatewayResponse,
  gatewayResponse,
  HEADERS_LIMIT_BYTES,
  INTEGRATION_TIMEOUT_MS,
  PAYLOAD_LIMIT_BYTES,
} from '#infra/gateway.ts'
import { isLoopback } from '#infra/local/http-server.ts'
import { listen } from '#infra/local/listen.ts'
import type { RouteGroup } from '#shared/http/group.ts'
import { createResourceMatcher, proxyEvent, splitTarget } from './proxy-event.ts'
import { createAuthorize, type RequestAuthorizer } from './request-authorizer.ts'

/** Invokes a Lambda once. Throws TimedOut after `timeoutMs`, and any other error if the function failed. */
export type Invoke = (event: APIGatewayProxyEvent, timeoutMs: number) => Promise<ProxyResult>

export class TimedOut extends Error {
  override name = 'TimedOut'
}

export interface Gateway {
  readonly url: string
  close(): Promise<void>
}

/** A method of a resource and its integration. `method` is ANY or an HTTP method. */
export interface ApiMethod {
  readonly method: string
  readonly path: string
  readonly timeoutMs: number
  readonly invoke: Invoke
}

/** The declaration of a REST API. */
export interface Api {
  readonly methods: readonly ApiMethod[]
  /** Authorizes every request of a method. */
  readonly authorizer?: RequestAuthorizer
  /** Returns the gateway response to a failure of the API itself. */
  readonly failure: (failure: GatewayFailure, requestId: string) => GatewayResponse
  /** The size from which a response is compressed. Without it, none is. */
  readonly compressionFromBytes?: number
}

class TooLarge extends Error {}

/** What a client gets. */
interface GatewayReply extends Pick<ProxyResult, 'statusCode' | 'body' | 'isBase64Encoded'> {
  /** Names and values in turns. */
  readonly headers: readonly string[]
}

const MISDIRECTED: GatewayReply = {
  statusCode: 421,
  headers: ['content-type', 'application/json', 'cache-control', 'no-store'],
  body: JSON.stringify({ error: 'Use 127.0.0.1 or localhost to reach this server' }),
}

const replyOf = ({ status, headers, body }: GatewayResponse): GatewayReply => ({
  statusCode: status,
  headers: Object.entries(headers).flat(),
  body,
})

/**
 * Serves the API that infra/aws/api.ts deploys for these route groups: one ANY method per path, with the gateway responses
 * and the timeout of infra/gateway.ts.
 */
export function startGateway(options: {
  port: number
  problemBaseUrl: string
  integrations: readonly { group: RouteGroup; invoke: Invoke }[]
  compressionFromBytes?: number
  onlyLoopbackHosts?: boolean
}): Promise<Gateway> {
  const { port, problemBaseUrl, integrations, compressionFromBytes, onlyLoopbackHosts } = options
  const methods = integrations.flatMap(({ group, invoke }) =>
    group.endpoints.map(({ path }) => ({ method: 'ANY', path, timeoutMs: INTEGRATION_TIMEOUT_MS, invoke })),
  )
  const failure: Api['failure'] = (name, requestId) => gatewayResponse(name, { requestId, problemBaseUrl })
  return serveApi({ port, api: { methods, failure, compressionFromBytes }, onlyLoopbackHosts })
}

/**
 * Serves a REST API on loopback, with Lambda proxy integrations and API Gateway's limits. With `onlyLoopbackHosts` it answers 421 to
 * any name but 127.0.0.1 and localhost, as the other servers of the local stack do.
 */
export async function serveApi(options: { port: number; api: Api; onlyLoopbackHosts?: boolean }): Promise<Gateway> {
  const { port, api, onlyLoopbackHosts = false } = options
  const methods = new Map(api.methods.map((declared) => [`${declared.method} ${declared.path}`, declared]))
  const authorize = api.authorizer === undefined ? null : createAuthorize(api.authorizer)
  const match = createResourceMatcher(api.methods.map(({ path }) => path))

  const answer = async (request: IncomingMessage, requestId: string): Promise<GatewayReply> => {
    if (onlyLoopbackHosts && !isLoopback(request.headers.host)) return MISDIRECTED
    const matched = match(splitTarget(request).path)
    if (matched === null) return failed('MISSING_AUTHENTICATION_TOKEN', requestId)
    const declared = methods.get(`${request.method} ${matched.resource}`) ?? methods.get(`ANY ${matched.resource}`)
    if (declared === undefined) return failed('MISSING_AUTHENTICATION_TOKEN', requestId)
    try {
      const body = await readBody(request)
      const event = proxyEvent(request, { ...matched, requestId, body })
      if (api.authorizer !== undefined && authorize !== null) {
        const authorized = await authorize(event)
        if (authorized === 'ACCESS_DENIED') return failed(authorized, requestId)
        if (typeof authorized === 'string') return replyOf(api.authorizer.failure(authorized, requestId))
        event.requestContext.authorizer = authorized.context
      }
      const result = await declared.invoke(event, declared.timeoutMs)
      return { ...result, headers: clientHeaders(result) }
    } catch (error) {
      if (error instanceof TooLarge) return failed('REQUEST_TOO_LARGE', requestId)
      return failed(error instanceof TimedOut ? 'INTEGRATION_TIMEOUT' : 'INTEGRATION_FAILURE', requestId)
    }
  }

  const failed = (failure: GatewayFailure, requestId: string): GatewayReply => replyOf(api.failure(failure, requestId))

  const server = createServer({ maxHeaderSize: HEADERS_LIMIT_BYTES, keepAliveTimeout: 60_000 }, (request, response) => {
    answer(request, randomUUID()).then(
      (result) => send(request, response, result, api.compressionFromBytes).catch(() => response.destroy()),
      () => response.destroy(),
    )
  })
  server.on('clientError', (_error, socket: Socket) => {
    if (!socket.writable) return
    const { statusCode, headers, body } = failed('BAD_REQUEST_BODY', randomUUID())
    const sent = [...headers, 'content-length', Buffer.byteLength(body), 'connection', 'close']
    const lines = sent.map((each, at) => (at % 2 === 0 ? `${each}: ` : `${each}\r\n`)).join('')
    socket.end(`HTTP/1.1 ${statusCode} Bad Request\r\n${lines}\r\n${body}`)
  })
  return {
    url: `http://127.0.0.1:${await listen(server, port)}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
        setTimeout(() => server.closeAllConnections(), 1000).unref()
      }),
  }
}

// A REST API renames these headers in the response of an integration, and no setting prevents it. It renames the type and the
// encoding of the content only in some cases, in which Lambda integrations are not.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-known-issues.html
const REMAPPED = new Set(
  (
    'accept accept-charset accept-encoding age authorization connection content-length content-md5 date expect host ' +
    'max-forwards pragma proxy-authenticate range referer server te trailer transfer-encoding upgrade user-agent via warn ' +
    'www-authenticate'
  ).split(' '),
)

/** Returns the headers of the response to a client, for those that a function returned. */
function clientHeaders({ headers = {}, multiValueHeaders = {} }: ProxyResult): string[] {
  const sent: string[] = []
  let isTyped = false
  const add = (name: string, value: string | number | boolean): void => {
    const lower = name.toLowerCase()
    sent.push(REMAPPED.has(lower) ? `x-amzn-remapped-${lower}` : name, String(value))
  }
  for (const name in headers) {
    const value = headers[name]
    isTyped ||= name.toLowerCase() === 'content-type'
    if (value !== null && value !== undefined && !Object.hasOwn(multiValueHeaders, name)) add(name, value)
  }
  for (const name in multiValueHeaders) {
    isTyped ||= name.toLowerCase() === 'content-type'
    for (const value of multiValueHeaders[name] ?? []) add(name, value)
  }
  if (!isTyped) sent.push('content-type', 'application/json')
  return sent
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined

// An async iterator of the request takes more time.
function readBody(request: IncomingMessage): Promise<Buffer> {
  if (!hasBody(request)) return Promise.resolve(Buffer.alloc(0))
  if (Number(request.headers['content-length'] ?? 0) > PAYLOAD_LIMIT_BYTES) return Promise.reject(new TooLarge())
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  let length = 0
  request.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (length <= PAYLOAD_LIMIT_BYTES) return void chunks.push(chunk)
    request.pause()
    reject(new TooLarge())
  })
  request.on('end', () => resolve(Buffer.concat(chunks)))
  request.on('error', reject)
  return promise
}

const compressed = promisify(gzip)

/** Whether the client takes gzip: a coding that it names without a weight of zero. */
const takesGzip = ({ headers }: IncomingMessage): boolean =>
  /(^|,)\s*(gzip|\*)\s*(;\s*q=(?!0(\.0*)?\s*(,|$))[^,]*)?(,|$)/i.test(headers['accept-encoding'] ?? '')

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  result: GatewayReply,
  compressionFromBytes = Number.POSITIVE_INFINITY,
): Promise<void> {
  const text = result.body ?? ''
  let body: string | Buffer = result.isBase64Encoded === true ? Buffer.from(text, 'base64') : text
  const headers = [...result.headers]
  if (Buffer.byteLength(body) >= compressionFromBytes && takesGzip(request)) {
    body = await compressed(body)
    headers.push('content-encoding', 'gzip')
  }
  if (result.statusCode !== 204) headers.push('content-length', String(Buffer.byteLength(body)))
  // The rest of a body that was not read would be parsed as the next request.
  if (hasBody(request) && !request.complete) headers.push('connection', 'close')
  response.writeHead(result.statusCode, headers)
  response.end(result.statusCode === 204 || request.method === 'HEAD' ? undefined : body)
}
