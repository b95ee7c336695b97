import { request } from 'node:http'
import { connect } from 'node:net'
import { seen } from './documented.ts'
import type { Answer } from './service.ts'

/** A response as received. Header names are in lower case, each with every value. */
export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, readonly string[]>>
  readonly text: string
}

export interface RawRequest {
  readonly method: string
  /** The request target, byte for byte. */
  readonly path: string
  /** Names and values alternate, so that a name can repeat. A leading `host` replaces the correct one. */
  readonly headers?: readonly string[]
  readonly body?: string | Buffer
}

/** Sends what `fetch` refuses or normalizes: repeated headers, any method, any path. */
export function rawRequest(baseUrl: string, { method, path, headers = [], body }: RawRequest): Promise<RawAnswer> {
  const { hostname, port, host } = new URL(baseUrl)
  const length = body === undefined ? [] : ['content-length', String(Buffer.byteLength(body))]
  const checked = (answer: RawAnswer): RawAnswer => {
    const pairs = Object.entries(answer.headers).map(([name, values]) => [name, values.join(', ')] as const)
    seen(method, path, { ...answer, headers: pairs })
    return answer
  }
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        hostname,
        port,
        method,
        path,
        agent: false,
        headers: [...(headers[0] === 'host' ? [] : ['host', host]), ...headers, ...length],
      },
      (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
        incoming.on('error', reject)
        incoming.on('end', () =>
          resolve(
            checked({
              status: incoming.statusCode ?? 0,
              headers: collect(incoming.rawHeaders),
              text: Buffer.concat(chunks).toString(),
            }),
          ),
        )
      },
    )
    // A server may respond and close before it received a large body. Rejecting has no effect then.
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

/** Returns the response in the form of `service.request`. */
export function toAnswer({ status, headers, text }: RawAnswer): Answer {
  const pairs = Object.entries(headers).flatMap(([name, values]) =>
    values.map((value): [string, string] => [name, value]),
  )
  return { status, headers: new Headers(pairs), text, body: text === '' ? null : JSON.parse(text) }
}

function collect(raw: readonly string[]): Record<string, string[]> {
  const headers: Record<string, string[]> = {}
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = (raw[index] ?? '').toLowerCase()
    headers[name] = [...(headers[name] ?? []), raw[index + 1] ?? '']
  }
  return headers
}

/** Writes bytes to the server. Returns everything that it sends until it closes the connection. */
export function rawBytes(baseUrl: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(baseUrl)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(Number(port), hostname, () => socket.write(Buffer.from(bytes, 'latin1')))
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()))
  })
}
