import { createServer } from 'node:http'
import { fromNodeHeaders, toNodeHandler } from 'better-auth/node'
import { givenOptions, serveAt } from '../processes.ts'
import { configure } from './better-auth.mjs'

// better-auth in a bare HTTP server. GET /authorize is a service with the library embedded, which asks it for the session and one
// permission.
let handle = (_request, response) => response.writeHead(503).end()
const server = createServer((request, response) => handle(request, response))
server.listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${server.address().port}`
  const { auth } = configure({ ...givenOptions(), url })
  const route = toNodeHandler(auth)
  handle = (request, response) => {
    if (request.url !== '/authorize') return void route(request, response)
    authorize(auth, fromNodeHeaders(request.headers)).then(
      (body) => response.writeHead(body === null ? 403 : 200, { 'content-type': 'application/json' }).end(body),
      (error) => {
        console.error(error)
        response.writeHead(500).end()
      },
    )
  }
  serveAt(url)
})

async function authorize(auth, headers) {
  const session = await auth.api.getSession({ headers })
  if (session === null) return null
  const { success } = await auth.api.hasPermission({ headers, body: { permissions: { deal: ['read'] } } })
  return success ? JSON.stringify(session) : null
}
