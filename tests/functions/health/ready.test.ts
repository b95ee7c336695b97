import { afterAll, expect, it } from 'vitest'
import { group } from '#functions/api/health/group.ts'
import { lambda } from '#shared/http/lambda.ts'
import { connectTo } from '#tests/support/access.ts'
import { gatewayEvent } from '#tests/support/event.ts'
import { lambdaContext } from '#tests/support/lambda-context.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()
const closed = connectTo('postgres://nobody@127.0.0.1:1/none')
afterAll(() => closed.close())

/** Calls the group with a database that refuses connections. */
async function withoutDatabase(route: string) {
  const runtime = { ...service.runtime, database: closed }
  const handle = lambda(group, { config: service.runtime.config, open: async () => runtime })
  const { statusCode, body } = await handle(gatewayEvent({ route }), lambdaContext)
  return { status: statusCode, body: JSON.parse(body) }
}

it('reports readiness with 200 while database and cache respond', async () => {
  const { status, body } = await service.request('GET /health/ready')
  expect([status, body]).toEqual([200, { status: 'ok', database: 'ok', cache: 'ok' }])
})

it('reports a failed database in readiness with 503, and liveness with 200', async () => {
  const { status, body } = await withoutDatabase('GET /health/ready')
  expect([status, body]).toEqual([503, expect.objectContaining({ database: 'failed', cache: 'ok' })])
  expect(await withoutDatabase('GET /health/live')).toEqual({ status: 200, body: { status: 'ok' } })
})
