import { Agent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'

/** The largest response body that is read from a vendor, unless the request says otherwise. */
export const MAX_RESPONSE_BYTES = 1_048_576

/** Why a vendor gave no verdict. The API shows these codes; they quote nothing from the vendor. */
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

/** The vendor gave no verdict. The error has only a reason: no cause, and no text of a request or a response. */
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
  /** The statuses whose body the caller reads. Any other status throws VendorUnreachable. */
  readonly statuses: readonly number[]
  /** Limits the whole request, from the DNS lookup to the last byte of the response. */
  readonly timeoutMs: number
  readonly maxBytes?: number
  /** Takes the body part by part, as it arrives. The response then has none. */
  readonly onText?: (part: string) => void
  /** Keeps connections for the next request. Without it, each request opens one of its own. Requires an idempotent request. */
  readonly agent?: Agent | undefined
}

/** Returns an agent for many requests to the same vendor. The caller destroys it. */
export const agentFor = (url: URL): Agent =>
  url.protocol === 'https:' ? new HttpsAgent({ keepAlive: true }) : new Agent({ keepAlive: true })

export interface BoundedResponse {
  readonly status: number
  /** In lower case, without parameters; '' if the response has none. */
  readonly mediaType: string
  readonly body: string
}

/**
 * Sends one request to a vendor, with limits on its duration and the size of the response. Throws only
 * VendorUnreachable. Follows no redirect, keeps no cookie, uses no proxy, requests no compression, and always verifies
 * the certificate, independent of environment variables.
 *
 * It uses node:https because environment variables weaken fetch: NODE_TLS_REJECT_UNAUTHORIZED=0 disables its
 * certificate verification and NODE_USE_ENV_PROXY=1 adds a proxy. Overriding either needs a second copy of undici.
 */
export async function boundedRequest(url: URL, options: BoundedRequest): Promise<BoundedResponse> {
  const deadline = new AbortController()
  const { signal } = deadline
  // AbortSignal.timeout keeps what the request holds until the time is over.
  const timer = setTimeout(() => deadline.abort(), options.timeoutMs)
  const send = url.protocol === 'https:' ? requestHttps : requestHttp
  const request = send(url, {
    method: options.method,
    headers: { 'user-agent': 'tenantry', 'accept-encoding': 'identity', ...options.headers },
    agent: options.agent ?? false,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    signal,
  })
  let isHandshaking = false
  let hasResponded = false
  request.once('socket', (socket) => {
    if (!socket.connecting) return
    socket.once('connect', () => {
      isHandshaking = url.protocol === 'https:'
    })
    socket.once('secureConnect', () => {
      isHandshaking = false
    })
  })
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request.on('response', (received) => {
        hasResponded = true
        resolve(received)
      })
      request.on('error', reject)
      // A protocol upgrade closes the request without an error.
      request.on('close', () => hasResponded || reject(new VendorUnreachable('unexpected_response')))
      request.end(options.body)
    })
    // Destroying an unread response may emit an error, which is unhandled without a listener.
    response.on('error', () => {})
    const status = response.statusCode ?? 0
    if (!options.statuses.includes(status)) throw new VendorUnreachable(reasonOfStatus(status))
    const [mediaType = ''] = (response.headers['content-type'] ?? '').toLowerCase().split(';')
    const body = await readBounded(response, options)
    // When the timeout closes the connection, a body without a content length looks complete.
    signal.throwIfAborted()
    return { status, mediaType: mediaType.trim(), body }
  } catch (error) {
    if (signal.aborted) throw new VendorUnreachable('timeout')
    if (error instanceof VendorUnreachable) throw error
    // The vendor closed the kept connection while it was idle.
    if (request.reusedSocket && !hasResponded && !isParseError(error))
      return boundedRequest(url, { ...options, agent: undefined })
    if (isHandshaking) throw new VendorUnreachable('tls_failed')
    throw new VendorUnreachable(isParseError(error) ? 'unexpected_response' : 'connection_failed')
  } finally {
    clearTimeout(timer)
    request.destroy()
  }
}

function reasonOfStatus(status: number): UnreachableReason {
  if (status === 429) return 'throttled'
  if ([301, 302, 303, 307, 308].includes(status)) return 'redirected'
  return status >= 500 ? 'vendor_error' : 'unexpected_response'
}

// Every error code of llhttp, Node's HTTP parser, has this prefix.
const isParseError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('HPE_')

async function readBounded(
  response: IncomingMessage,
  { maxBytes = MAX_RESPONSE_BYTES, onText }: BoundedRequest,
): Promise<string> {
  const decoder = new TextDecoder()
  const parts: string[] = []
  const take = onText ?? ((part: string) => void parts.push(part))
  let bytes = 0
  for await (const chunk of response) {
    const part = Buffer.from(chunk)
    bytes += part.length
    if (bytes > maxBytes) throw new VendorUnreachable('too_large')
    take(decoder.decode(part, { stream: true }))
  }
  take(decoder.decode())
  return parts.join('')
}
