import type { Faults } from './faults.ts'
import { FaultError } from './faults.ts'
import { type HttpServer, type LocalReply, json, startHttpServer } from './http-server.ts'

/** Serves the switchboard: `POST /faults` sets a fault, `GET /faults` returns all, `GET /calls` each part's call count. */
export const startControl = (faults: Faults, options: { readonly port?: number } = {}): Promise<HttpServer> =>
  startHttpServer({
    ...options,
    answer: ({ method, url, body }) => {
      switch (`${method} ${url.pathname}`) {
        case 'POST /faults':
          return setFault(faults, body)
        case 'GET /faults':
          return json(200, faults.all())
        case 'GET /calls':
          return json(200, faults.counts())
        default:
          return json(404, { error: 'Use POST /faults, GET /faults or GET /calls' })
      }
    },
  })

async function setFault(faults: Faults, body: Buffer): Promise<LocalReply> {
  try {
    const input: unknown = JSON.parse(body.toString())
    return json(200, await faults.set(input))
  } catch (error) {
    if (error instanceof FaultError) return json(400, { error: error.message })
    if (error instanceof SyntaxError) return json(400, { error: 'The body is not JSON' })
    throw error
  }
}
