import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { listen } from './listen.ts'

export interface LocalRequest {
  readonly method: string
  readonly url: URL
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface LocalReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** Returns the reply, or 'drop' to close the connection without one, like a server that is down. */
export type Answer = (request: LocalRequest) => LocalReply | 'drop' | Promise<LocalReply | 'drop'>

export interface HttpServer {
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

const BODY_MAX_BYTES = 12 * 1024 * 1024

export const json = (status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): LocalReply => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(value),
})

/**
 * Serves HTTP on 127.0.0.1. Port 0 is any free port. Calls `meet` before each request, which may refuse or delay it. An error
 * thrown by `answer` becomes a 500 with its message. Refuses what a web page sends, unless `forPages` is set: any site that a
 * developer visits can post to a port of this machine.
 */
export async function startHttpServer(options: {
  readonly answer: Answer
  readonly port?: number
  readonly forPages?: boolean
  readonly meet?: () => Promise<'go' | 'refuse'>
}): Promise<HttpServer> {
  const respond = async (incoming: IncomingMessage): Promise<LocalReply | 'drop'> => {
    if (!isLoopback(incoming.headers.host))
      return json(421, { error: 'Use 127.0.0.1 or localhost to reach this server' })
    if (incoming.headers.origin !== undefined && options.forPages !== true)
      return json(403, { error: 'This server takes no requests from web pages' })
    const body = await readBody(incoming)
    if (body === undefined) return json(413, { error: `The body is larger than ${BODY_MAX_BYTES} bytes` })
    if ((await options.meet?.()) === 'refuse') return 'drop'
    const url = URL.parse(incoming.url ?? '/', 'http://127.0.0.1')
    if (url === null) return json(400, { error: 'The path does not parse' })
    return options.answer({ method: incoming.method ?? 'GET', url, headers: incoming.headers, body })
  }

  const server = createServer((incoming, outgoing) => {
    respond(incoming).then(
      (reply) => (reply === 'drop' ? incoming.socket.destroy() : send(outgoing, reply)),
      (error: unknown) => {
        if (incoming.errored !== null) return
        send(outgoing, json(500, { error: error instanceof Error ? error.message : String(error) }))
      },
    )
  })
  const port = await listen(server, options.port ?? 0)
  return { url: `http://127.0.0.1:${port}`, port, close: () => closeServer(server) }
}

function send(outgoing: ServerResponse, { status, headers, body = '' }: LocalReply): void {
  const length = Buffer.byteLength(body)
  outgoing.writeHead(status, { 'cache-control': 'no-store', ...headers, 'content-length': length })
  outgoing.end(body)
}

// Another site can resolve its own name to 127.0.0.1 and then read the replies (DNS rebinding). The Host header names it.
export const isLoopback = (host: string | undefined): boolean =>
  /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i.test(host ?? '')

function readBody(incoming: IncomingMessage): Promise<Buffer | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | undefined>()
  const chunks: Buffer[] = []
  let bytes = 0
  incoming.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= BODY_MAX_BYTES) chunks.push(chunk)
  })
  incoming.on('end', () => resolve(bytes > BODY_MAX_BYTES ? undefined : Buffer.concat(chunks, bytes)))
  incoming.on('error', reject)
  return promise
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
