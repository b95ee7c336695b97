import { type HttpServer, json, startHttpServer } from '#infra/local/http-server.ts'

/** Serves the front end's address: its health, and the address of the API. */
export const startWeb = (options: { port: number; gatewayUrl: () => string }): Promise<HttpServer> =>
  startHttpServer({
    port: options.port,
    forPages: true,
    answer: ({ method, url }) => {
      if (method !== 'GET') return json(405, { error: 'Method not allowed' }, { allow: 'GET' })
      switch (url.pathname) {
        case '/healthz':
          return json(200, { status: 'ok' })
        case '/':
          return json(200, { api: options.gatewayUrl() })
        default:
          return json(404, { error: 'Not found' })
      }
    },
  })
