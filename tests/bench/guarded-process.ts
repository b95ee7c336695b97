import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGuard, Refusal } from '@tenantry/guard'
import { liveArn } from '#infra/local/aws/lambda.ts'
import { gatewayEvent } from '#tests/support/event.ts'
import { serveAt } from './processes.ts'

// A service of another team: it asks the guard for each request, and responds with the principal. Its environment has the
// address of Lambda and credentials.
const guard = createGuard({ functionName: liveArn('authorize') })
const server = createServer((request, response) => {
  const { authorization = '' } = request.headers
  guard.authorize(gatewayEvent({ route: 'GET /orders', headers: { authorization } }), 'deal.read').then(
    (principal) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(principal)),
    (error: unknown) => {
      if (!(error instanceof Refusal)) throw error
      const { statusCode, headers, body } = error.response()
      response.writeHead(statusCode, headers).end(body)
    },
  )
})
server.listen(0, '127.0.0.1', () => serveAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
