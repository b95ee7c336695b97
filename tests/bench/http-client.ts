import { Agent, request as send } from 'node:http'

/** A response, and the time until its last byte. */
export interface Timed {
  readonly status: number
  readonly body: string
  readonly ms: number
}

export type Call = (
  route: string,
  options?: { token?: string; authorization?: string; body?: object },
) => Promise<Timed>

/** Calls a server over one keep-alive connection. `route` is a method and a path. */
export function createClient(url: string): Call {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return (route, { token, authorization = token === undefined ? undefined : `Bearer ${token}`, body } = {}) =>
    new Promise((resolve, reject) => {
      const [method = '', path = ''] = route.split(' ')
      const payload = body === undefined ? undefined : JSON.stringify(body)
      const headers = {
        ...(authorization === undefined ? {} : { authorization }),
        ...(payload === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
      }
      const started = performance.now()
      const request = send(new URL(path, url), { method, headers, agent }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const ms = performance.now() - started
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString(), ms })
        })
      })
      request.on('error', reject)
      request.end(payload)
    })
}

/** Returns the response. Throws if its status is another one. */
export function expectStatus(response: Timed, status: number, what: string): Timed {
  if (response.status === status) return response
  throw new Error(`${what}: ${response.status} instead of ${status}: ${response.body.slice(0, 500)}`)
}
