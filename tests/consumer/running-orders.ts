import { createGuard, type GuardOptions } from '@tenantry/guard'
import postgres from 'postgres'
import { expect } from 'vitest'
import { authorizer } from '#functions/workers/authorize/authorizer.ts'
import { worker } from '#functions/workers/authorize/worker.ts'
import { liveArn, startLambda } from '#infra/local/aws/lambda.ts'
import { gatewayEvent } from '#tests/support/event.ts'
import { lambdaContext } from '#tests/support/lambda-context.ts'
import { stubLambdaEnvironment } from '#tests/support/lambda-environment.ts'
import { mintSession } from '#tests/support/minted-session.ts'
import type { TestService } from '#tests/support/service.ts'
import { createOrdersSchema } from './orders-database.ts'
import { createOrder, ordersHandler } from './orders.ts'

interface Asked {
  readonly route?: string
  readonly token?: string
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

/** Runs the sample service beside the whole of Tenantry. */
export async function startOrders({ database, runtime }: TestService) {
  const lambda = await startLambda()
  const authorize = authorizer({ config: runtime.config, open: async () => runtime })
  lambda.serve('authorize', { worker, invoke: authorize })
  lambda.serve('hanging', { worker, invoke: () => new Promise(() => {}) })
  stubLambdaEnvironment(lambda.url)
  const url = await createOrdersSchema(database.admin, database.appUrl)
  const sql = postgres(url, { max: 4, onnotice: () => {} })
  const options = (given: GuardOptions): GuardOptions => ({ functionName: liveArn('authorize'), ...given })
  const eventOf = ({ route = 'GET /orders', token, headers = {}, body }: Asked) =>
    gatewayEvent({
      route,
      body,
      headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers },
    })
  return {
    url,
    sql,
    eventOf,
    guard: createGuard(options({})),
    handlerWith: (given: GuardOptions) => ordersHandler(sql, options(given)),
    ask: async (asked: Asked) => {
      const response = await ordersHandler(sql, options({}))(eventOf(asked), lambdaContext)
      return { status: response.statusCode, headers: response.headers ?? {}, body: JSON.parse(response.body) }
    },
    close: async () => {
      await sql.end()
      await lambda.close()
    },
  }
}

export type Orders = Awaited<ReturnType<typeof startOrders>>

/** Ends a session between the check of a request and its write, and expects that the write leaves no row. */
export async function revokeBeforeWrites(service: TestService, orders: Orders, rounds: number): Promise<void> {
  const { slug, id } = await service.newTenant('owner')
  const emails = service.database.admin<{ email: string }[]>`
    select u.email from app.users u join app.memberships m on m.user_id = u.id where m.tenant_id = ${id} and m.role_id = 1`
  const [{ email } = { email: '' }] = await emails
  for (let round = 0; round < rounds; round += 1) {
    const { token } = await mintSession(service.database.admin, { email, slug })
    const principal = await orders.guard.authorize(orders.eventOf({ route: 'POST /orders', token }), 'deal.write')
    const writing =
      round % 2 === 0 ? null : createOrder(orders.sql, principal, 'concurrent').catch((error: unknown) => error)
    const ended = await service.request('DELETE /v1/auth/session', { token })
    expect(ended.status).toBe(204)
    await expect(createOrder(orders.sql, principal, 'too late')).rejects.toMatchObject({ status: 401 })
    const outcome = await writing
    if (outcome instanceof Error) expect(outcome).toMatchObject({ status: 401 })
  }
  expect(await service.sql`select from orders.orders where title = 'too late'`).toHaveLength(0)
}

/** Sends reads and writes of two tenants concurrently, and expects that no response has a row of the other. */
export async function mixTenants(service: TestService, orders: Orders, requests: number): Promise<void> {
  const tenants = [await service.newTenant('sales'), await service.newTenant('sales')]
  for (const { slug, sales } of tenants) {
    const first = { route: 'POST /orders', token: sales.token, body: { title: slug } }
    expect((await orders.ask(first)).status).toBe(201)
  }
  let sent = 0
  const work = async (lane: number): Promise<void> => {
    while (sent < requests) {
      const number = (sent += 1)
      const tenant = tenants[(number + lane) % 2]
      if (tenant === undefined) return
      const { token } = tenant.sales
      if (number % 4 === 0) {
        const body = { title: tenant.slug }
        expect((await orders.ask({ route: 'POST /orders', token, body })).status).toBe(201)
      } else {
        const { status, body } = await orders.ask({ token })
        expect(status).toBe(200)
        const { data }: { data: { title: string; tenant_id: string }[] } = body
        for (const row of data) expect(row).toMatchObject({ title: tenant.slug, tenant_id: tenant.id })
      }
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, lane) => work(lane)))
  for (const { id, slug } of tenants) {
    const rows = await service.sql<
      { title: string }[]
    >`select distinct title from orders.orders where tenant_id = ${id}`
    expect(rows.map(({ title }) => title)).toEqual([slug])
  }
}
