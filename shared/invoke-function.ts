import { createHash, createHmac } from 'node:crypto'
import http from 'node:http'
import https from 'node:https'
import { SignatureV4 } from '@smithy/signature-v4'
import { LIVE_ALIAS } from '#shared/live-alias.ts'

/** What Lambda responds to an invocation. */
export interface Invoked {
  /** Why the function failed, or null. */
  readonly functionError: string | null
  readonly payload: string
}

/** How a function is invoked, and the event in JSON. */
export interface Invocation {
  readonly type: 'RequestResponse' | 'Event' | 'DryRun'
  readonly payload?: string
}

// Requests and signatures come from Node.js and from the SDK's signer. The SDK's client takes three times the processor time of
// both at each call (decision 89).
const env = (name: string): string => process.env[name] ?? ''

/** The hashes that the signer needs. */
class Sha256 {
  readonly #hash

  constructor(key?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = key === undefined ? createHash('sha256') : createHmac('sha256', bytes(key))
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytes(data))
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }

  reset(): void {
    throw new Error('a hash is used once')
  }
}

const bytes = (data: string | ArrayBuffer | ArrayBufferView): Uint8Array | string => {
  if (typeof data === 'string') return data
  return ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data)
}

// Lambda gives an instance its credentials in its environment.
const signer = new SignatureV4({
  service: 'lambda',
  region: async () => env('AWS_REGION'),
  credentials: async () => ({
    accessKeyId: env('AWS_ACCESS_KEY_ID'),
    secretAccessKey: env('AWS_SECRET_ACCESS_KEY'),
    ...(process.env['AWS_SESSION_TOKEN'] === undefined ? {} : { sessionToken: env('AWS_SESSION_TOKEN') }),
  }),
  sha256: Sha256,
})

const options = { keepAlive: true }
const plain = new http.Agent(options)
const encrypted = new https.Agent(options)

function endpoint(): URL {
  const region = env('AWS_REGION')
  const suffix = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
  return new URL(process.env['AWS_ENDPOINT_URL_LAMBDA'] ?? `https://lambda.${region}.${suffix}`)
}

/**
 * Invokes the live version of the function with this name, to which it adds the prefix of the stage. Never sends it twice: a
 * retry would repeat a write that may have taken effect. Throws when Lambda does not respond or refuses. A file of its own:
 * import it when it is first needed.
 */
export async function invokeFunction(
  name: string,
  { type, payload = '' }: Invocation,
  abortSignal: AbortSignal,
): Promise<Invoked> {
  const { protocol, hostname, host, port } = endpoint()
  const path = `/2015-03-31/functions/${env('FUNCTION_PREFIX')}${name}/invocations`
  const { headers } = await signer.sign({
    method: 'POST',
    protocol,
    hostname,
    path,
    query: { Qualifier: LIVE_ALIAS },
    headers: { host, 'x-amz-invocation-type': type, 'content-length': String(Buffer.byteLength(payload)) },
    body: payload,
  })
  const [send, agent] = protocol === 'http:' ? [http.request, plain] : [https.request, encrypted]
  const { promise, resolve, reject } = Promise.withResolvers<Invoked>()
  const request = send(
    { method: 'POST', hostname, port, path: `${path}?Qualifier=${LIVE_ALIAS}`, headers, agent, signal: abortSignal },
    (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        const { statusCode = 0, headers: received } = response
        const functionError = received['x-amz-function-error'] ?? null
        if (statusCode < 300)
          resolve({ functionError: functionError === null ? null : String(functionError), payload: text })
        else reject(new InvokeRefused(`${statusCode} ${String(received['x-amzn-errortype'] ?? '')}`))
      })
    },
  )
  request.on('error', reject)
  request.end(payload)
  return promise
}

/** Lambda refused an invocation. */
class InvokeRefused extends Error {
  override name = 'InvokeRefused'
}
