import type { Faults } from './faults.ts'
import { FaultError } from './faults.ts'
import { type HttpServer, type LocalReply, json, startHttpServer } from './http-server.ts'

/**
 * The switchboard over HTTP: `POST /faults` sets one fault and answers with it, `GET /faults` gives each part's fault,
 * `GET /calls` the calls that each part received.
 */
export const startControl = (faults: Faults, options: { readonly port?: number } = {}): Promise<HttpServer> =>
  startHttpServer({
    ...options,
    answer: ({ method, url, body }) => {
      switch (`${method} ${url.pathname}`) {
        case 'POST /faults':
          return setFault(faults, body)
        case 'GET /faults':
          return json(200, {
            cache: faults.current('cache'),
            kms: faults.current('kms'),
            ses: faults.current('ses'),
            vendor: faults.current('vendor'),
            postgres: faults.current('postgres'),
          })
        case 'GET /calls':
          return json(200, faults.counts())
        default:
          return json(404, { error: 'Known here: POST /faults, GET /faults, GET /calls' })
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
