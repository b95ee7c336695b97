import { createHash, createHmac, createSecretKey } from 'node:crypto'
import http from 'node:http'
import https from 'node:https'
import { SignatureV4 } from '@smithy/signature-v4'

// The guard of other services has this file in its package. It imports nothing of this repository.

/** What Lambda responds to an invocation. */
export interface Invoked {
  /** Why the function failed, or null. */
  readonly functionError: string | null
  readonly payload: string
}

/** How a function is invoked, and the event in JSON. */
export interface Invocation {
  /** Its name or ARN, with its alias. */
  readonly functionName: string
  readonly type: 'RequestResponse' | 'Event' | 'DryRun'
  readonly payload?: string
  /** The trace that the invocation is a part of, as X-Ray writes it in a header. */
  readonly traceId?: string | undefined
}

/** Invokes a function once. Rejects when Lambda does not respond, and with InvocationRefused when it refuses. */
export type Invoke = (invocation: Invocation, abortSignal: AbortSignal) => Promise<Invoked>

/** Lambda refused an invocation. */
export class InvocationRefused extends Error {
  override readonly name = 'InvocationRefused'
  readonly status: number

  constructor(status: number, type: string) {
    super(`${status} ${type}`)
    this.status = status
  }
}

type Environment = Readonly<Record<string, string | undefined>>

/** The hashes that the signer needs. */
class Sha256 {
  readonly #hash

  constructor(key?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = key === undefined ? createHash('sha256') : createHmac('sha256', secretKey(key))
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

// Node.js takes 32 µs for an HMAC whose key is bytes, and 12 for one with the key of a KeyObject.
const secretKey = (key: string | ArrayBuffer | ArrayBufferView) => {
  const given = bytes(key)
  return typeof given === 'string' ? given : createSecretKey(given)
}

const bytes = (data: string | ArrayBuffer | ArrayBufferView): Uint8Array | string => {
  if (typeof data === 'string') return data
  return ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data)
}

const options = { keepAlive: true }
const plain = new http.Agent(options)
const encrypted = new https.Agent(options)

// The suffix of each partition but `aws` and `aws-us-gov`, by the beginning of its regions
// (https://docs.aws.amazon.com/whitepapers/latest/aws-fault-isolation-boundaries/partitions.html).
const SUFFIXES: readonly (readonly [string, string])[] = [
  ['cn-', 'amazonaws.com.cn'],
  ['eusc-', 'amazonaws.eu'],
  ['us-iso-', 'c2s.ic.gov'],
  ['us-isob-', 'sc2s.sgov.gov'],
  ['us-isof-', 'csp.hci.ic.gov'],
  ['eu-isoe-', 'cloud.adc-e.uk'],
]

/** Returns the address of Lambda: the one that the environment names, or that of its region. */
export function lambdaEndpoint(env: Environment): URL {
  const region = env['AWS_REGION'] ?? ''
  const [, suffix = 'amazonaws.com'] = SUFFIXES.find(([prefix]) => region.startsWith(prefix)) ?? []
  return new URL(env['AWS_ENDPOINT_URL_LAMBDA'] || env['AWS_ENDPOINT_URL'] || `https://lambda.${region}.${suffix}`)
}

/**
 * Returns `Invoke` with the region, the endpoint and the credentials of an environment, where Lambda puts them. Node.js sends
 * the request and the SDK's signer signs it: the SDK's client takes three times the processor time of both (infra/history.md, 89).
 */
export function signedInvoke(env: Environment): Invoke {
  const { protocol, hostname, host, port, pathname } = lambdaEndpoint(env)
  const [send, agent] = protocol === 'http:' ? [http.request, plain] : [https.request, encrypted]
  const sessionToken = env['AWS_SESSION_TOKEN']
  const signer = new SignatureV4({
    service: 'lambda',
    region: env['AWS_REGION'] ?? '',
    credentials: {
      accessKeyId: env['AWS_ACCESS_KEY_ID'] ?? '',
      secretAccessKey: env['AWS_SECRET_ACCESS_KEY'] ?? '',
      ...(sessionToken === undefined ? {} : { sessionToken }),
    },
    sha256: Sha256,
  })
  return async ({ functionName, type, payload = '', traceId }, abortSignal) => {
    const path = `${pathname.replace(/\/$/, '')}/2015-03-31/functions/${encodeURIComponent(functionName)}/invocations`
    const { headers } = await signer.sign({
      method: 'POST',
      protocol,
      hostname,
      path,
      headers: {
        host,
        'x-amz-invocation-type': type,
        'content-length': String(Buffer.byteLength(payload)),
        ...(traceId === undefined ? {} : { 'x-amzn-trace-id': traceId }),
      },
      body: payload,
    })
    const { promise, resolve, reject } = Promise.withResolvers<Invoked>()
    const request = send({ method: 'POST', hostname, port, path, headers, agent, signal: abortSignal }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const { statusCode = 0, headers: received } = response
        const [errorType = ''] = /^\w*/.exec(String(received['x-amzn-errortype'] ?? '')) ?? []
        if (statusCode >= 300) return reject(new InvocationRefused(statusCode, errorType))
        const functionError = received['x-amz-function-error']
        resolve({
          functionError: functionError === undefined ? null : String(functionError),
          payload: Buffer.concat(chunks).toString(),
        })
      })
    })
    request.on('error', reject)
    request.end(payload)
    return promise
  }
}
