import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda'
import {
  type GatewayFailure,
  gatewayResponse,
  HEADERS_LIMIT_BYTES,
  INTEGRATION_TIMEOUT_MS,
  PAYLOAD_LIMIT_BYTES,
} from '#infra/gateway.ts'
import type { RouteGroup } from '#shared/http/group.ts'
import { createResourceMatcher, proxyEvent, splitTarget } from './proxy-event.ts'

/** Runs a Lambda once. Rejects with TimedOut after the time it was given, with anything else when the function broke. */
export type Invoke = (event: APIGatewayProxyEvent, timeoutMs: number) => Promise<APIGatewayProxyResult>

export class TimedOut extends Error {
  override name = 'TimedOut'
}

export interface Gateway {
  readonly url: string
  close(): Promise<void>
}

class TooLarge extends Error {}

/**
 * A REST API on loopback: one ANY method per path, the Lambda proxy integration, and the failures, limits and timeout
 * that infra/gateway.ts declares for the deployed one.
 */
export async function startGateway(options: {
  port: number
  problemBaseUrl: string
  integrations: readonly { group: RouteGroup; invoke: Invoke }[]
}): Promise<Gateway> {
  const integrations = new Map(
    options.integrations.flatMap(({ group, invoke }) => group.endpoints.map(({ path }) => [path, invoke] as const)),
  )
  const match = createResourceMatcher([...integrations.keys()])

  const answer = async (request: IncomingMessage, requestId: string): Promise<APIGatewayProxyResult> => {
    const matched = match(splitTarget(request).path)
    const invoke = matched === null ? undefined : integrations.get(matched.resource)
    if (matched === null || invoke === undefined) return failed('MISSING_AUTHENTICATION_TOKEN', requestId)
    try {
      const body = await readBody(request)
      return await invoke(proxyEvent(request, { ...matched, requestId, body }), INTEGRATION_TIMEOUT_MS)
    } catch (error) {
      if (error instanceof TooLarge) return failed('REQUEST_TOO_LARGE', requestId)
      return failed(error instanceof TimedOut ? 'INTEGRATION_TIMEOUT' : 'INTEGRATION_FAILURE', requestId)
    }
  }

  const failed = (failure: GatewayFailure, requestId: string): APIGatewayProxyResult => {
    const { status, headers, body } = gatewayResponse(failure, { requestId, problemBaseUrl: options.problemBaseUrl })
    return { statusCode: status, headers, body }
  }

  const server = createServer({ maxHeaderSize: HEADERS_LIMIT_BYTES, keepAliveTimeout: 60_000 }, (request, response) => {
    answer(request, randomUUID()).then(
      (result) => send(request, response, result),
      () => response.destroy(),
    )
  })
  server.on('clientError', (_error, socket: Socket) => {
    if (!socket.writable) return
    const { statusCode, headers = {}, body } = failed('BAD_REQUEST_BODY', randomUUID())
    const lines = Object.entries({ ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' })
    socket.end(`HTTP/1.1 ${statusCode} Bad Request\r\n${lines.map(([k, v]) => `${k}: ${v}\r\n`).join('')}\r\n${body}`)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
        setTimeout(() => server.closeAllConnections(), 1000).unref()
      }),
  }
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined

const NO_BODY = Buffer.alloc(0)

async function readBody(request: IncomingMessage): Promise<Buffer> {
  if (request.headers['content-length'] === undefined && request.headers['transfer-encoding'] === undefined)
    return NO_BODY
  if (Number(request.headers['content-length'] ?? 0) > PAYLOAD_LIMIT_BYTES) throw new TooLarge()
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > PAYLOAD_LIMIT_BYTES) throw new TooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function send(request: IncomingMessage, response: ServerResponse, result: APIGatewayProxyResult): void {
  const text = result.body ?? ''
  const body = result.isBase64Encoded === true ? Buffer.from(text, 'base64') : text
  for (const [name, value] of Object.entries(result.headers ?? {})) response.setHeader(name, String(value))
  for (const [name, values] of Object.entries(result.multiValueHeaders ?? {}))
    response.setHeader(name, values.map(String))
  if (result.statusCode !== 204) response.setHeader('content-length', Buffer.byteLength(body))
  // A body that was not read to its end leaves the connection of no use.
  if (hasBody(request) && !request.complete) response.setHeader('connection', 'close')
  response.writeHead(result.statusCode)
  response.end(result.statusCode === 204 || request.method === 'HEAD' ? undefined : body)
}
