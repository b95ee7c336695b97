import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { onTestFinished } from 'vitest'
import type { VendorCredential } from '#shared/suppliers/adapter.ts'
import { type AdapterName, type VerifyOutcome, verifyCredential } from '#shared/suppliers/vendor.ts'

export const CREDENTIAL: VendorCredential = { accountNumber: '51234', secret: 'a-secret-nobody-may-read' }

export const BOTH: readonly AdapterName[] = ['ss-activewear', 'promostandards']

const SHARED = 'http://www.promostandards.org/WSDL/ProductDataService/2.0.0/SharedObjects/'

/** The response of each kind of vendor to a valid credential. */
export const GOOD_ANSWER: Readonly<Record<AdapterName, { readonly type: string; readonly body: string }>> = {
  'ss-activewear': { type: 'application/json', body: '[{"styleID":39}]' },
  promostandards: { type: 'text/xml; charset=utf-8', body: soap(response(message(160, 'Information'))) },
}

export function soap(content: string): string {
  return `<?xml version="1.0"?><e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>${content}</e:Body></e:Envelope>`
}

export function response(content: string): string {
  return `<GetProductDateModifiedResponse xmlns="${SHARED.replace('SharedObjects/', '')}">${content}</GetProductDateModifiedResponse>`
}

export function message(code: number | string, severity = 'Error'): string {
  return `<ServiceMessageArray xmlns="${SHARED}"><ServiceMessage><code>${code}</code><description>words</description><severity>${severity}</severity></ServiceMessage></ServiceMessageArray>`
}

export interface TestServer {
  readonly url: string
  readonly requests: readonly {
    readonly url: string
    readonly headers: IncomingMessage['headers']
    readonly body: string
  }[]
  /** Returns the number of open connections. */
  readonly open: () => number
}

/** Starts a vendor that responds with `answer`, with TLS if `tls` is given. It stops with the test. */
export async function startVendor(
  answer: (response: ServerResponse) => void,
  tls?: { readonly cert: string; readonly key: string },
): Promise<TestServer> {
  const requests: { url: string; headers: IncomingMessage['headers']; body: string }[] = []
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      requests.push({ url: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() })
      answer(response)
    })
  }
  const server = tls === undefined ? createHttpServer(listener) : createHttpsServer(tls, listener)
  const { port, open } = await listen(server)
  return { url: tls === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`, requests, open }
}

/** Listens on 127.0.0.1 until the test ends, then closes all connections. */
export async function listen(server: Server): Promise<{ readonly port: number; readonly open: () => number }> {
  const sockets = new Set<{ destroy(): void }>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, open: () => sockets.size }
}

/** Checks a credential with the vendor at `url`. */
export const ask = (
  adapter: AdapterName,
  url: string,
  options: { readonly timeoutMs?: number; readonly credential?: VendorCredential } = {},
): Promise<VerifyOutcome> =>
  verifyCredential({ code: 'tested', name: 'Tested', adapter }, options.credential ?? CREDENTIAL, {
    urls: new Map([['tested', new URL(url)]]),
    timeoutMs: options.timeoutMs,
  })
