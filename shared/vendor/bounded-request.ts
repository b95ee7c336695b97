import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'

/** The most that a vendor may answer, in bytes. */
export const MAX_RESPONSE_BYTES = 1_048_576

/** Why a vendor gave no verdict. A code of ours, which a shop may see: nothing of what the vendor said is in it. */
export type UnreachableReason =
  | 'not_configured'
  | 'timeout'
  | 'connection_failed'
  | 'tls_failed'
  | 'throttled'
  | 'redirected'
  | 'vendor_error'
  | 'too_large'
  | 'unexpected_response'

/** The vendor gave no verdict. Holds its reason alone: no cause, no text of a request or a response. */
export class VendorUnreachable extends Error {
  override name = 'VendorUnreachable'
  readonly reason: UnreachableReason

  constructor(reason: UnreachableReason) {
    super(`The vendor gave no verdict: ${reason}`)
    this.reason = reason
  }
}

export interface BoundedRequest {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** The statuses whose body the caller reads. Any other rejects, with the reason that the status gives. */
  readonly statuses: readonly number[]
  /** For the whole exchange, from the look-up of the name to the last byte of the body. */
  readonly timeoutMs: number
}

export interface BoundedResponse {
  readonly status: number
  /** In lower case, without parameters; '' where there is none. */
  readonly mediaType: string
  readonly body: string
}

/**
 * One exchange with a vendor, which cannot make it last longer or grow larger than allowed. Rejects with VendorUnreachable
 * and nothing else. It follows no redirect, keeps no cookie and no connection, uses no proxy, and accepts no certificate
 * that does not verify, whatever the environment says. It asks for no compression and expands nothing.
 *
 * node:https and not fetch: NODE_TLS_REJECT_UNAUTHORIZED=0 switches fetch's verification off, and NODE_USE_ENV_PROXY=1
 * sends its requests through a proxy, and neither can be overruled without a copy of undici beside Node's own.
 */
export async function boundedRequest(url: URL, options: BoundedRequest): Promise<BoundedResponse> {
  const signal = AbortSignal.timeout(options.timeoutMs)
  const send = url.protocol === 'https:' ? requestHttps : requestHttp
  const request = send(url, {
    method: options.method,
    headers: { 'user-agent': 'tenantry', 'accept-encoding': 'identity', ...options.headers },
    agent: false,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    signal,
  })
  let isHandshaking = false
  request.once('socket', (socket) => {
    socket.once('connect', () => {
      isHandshaking = url.protocol === 'https:'
    })
    socket.once('secureConnect', () => {
      isHandshaking = false
    })
  })
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request.on('response', resolve)
      request.on('error', reject)
      // A switch of protocols closes the request without an error.
      request.on('close', () => reject(new VendorUnreachable('unexpected_response')))
      request.end(options.body)
    })
    // Whoever destroys a response that nobody reads may make it emit an error that nobody expects.
    response.on('error', () => {})
    const status = response.statusCode ?? 0
    if (!options.statuses.includes(status)) throw new VendorUnreachable(reasonOfStatus(status))
    const [mediaType = ''] = (response.headers['content-type'] ?? '').toLowerCase().split(';')
    const body = await readBounded(response)
    // A body that ends with its connection looks whole when we are the ones who cut it.
    signal.throwIfAborted()
    return { status, mediaType: mediaType.trim(), body }
  } catch (error) {
    if (signal.aborted) throw new VendorUnreachable('timeout')
    if (error instanceof VendorUnreachable) throw error
    if (isHandshaking) throw new VendorUnreachable('tls_failed')
    throw new VendorUnreachable(isParseError(error) ? 'unexpected_response' : 'connection_failed')
  } finally {
    request.destroy()
  }
}

function reasonOfStatus(status: number): UnreachableReason {
  if (status === 429) return 'throttled'
  if ([301, 302, 303, 307, 308].includes(status)) return 'redirected'
  return status >= 500 ? 'vendor_error' : 'unexpected_response'
}

// llhttp, Node's parser of HTTP, begins each of its codes so.
const isParseError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('HPE_')

async function readBounded(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response) {
    const part = Buffer.from(chunk)
    bytes += part.length
    if (bytes > MAX_RESPONSE_BYTES) throw new VendorUnreachable('too_large')
    chunks.push(part)
  }
  return new TextDecoder().decode(Buffer.concat(chunks, bytes))
}
