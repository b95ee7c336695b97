import { Agent, request as send } from 'node:http'

/** One answer, and how long it took until its last byte. */
export interface Timed {
  readonly status: number
  readonly body: string
  readonly ms: number
}

export type Call = (route: string, options?: { token?: string; body?: object }) => Promise<Timed>

/** Calls a server over one connection that is kept open. `route` is a method and a path. */
export function createClient(url: string): Call {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return (route, { token, body } = {}) =>
    new Promise((resolve, reject) => {
      const [method = '', path = ''] = route.split(' ')
      const payload = body === undefined ? undefined : JSON.stringify(body)
      const headers = {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
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

/** The answer, if it has this status. Throws when it has another one. */
export function expectStatus(answer: Timed, status: number, what: string): Timed {
  if (answer.status === status) return answer
  throw new Error(`${what}: ${answer.status} and not ${status}: ${answer.body.slice(0, 500)}`)
}
