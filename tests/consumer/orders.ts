import { type AnyPrincipal, createGuard, type GuardOptions } from '@tenantry/guard'
import { readInTenant, writeInTenant } from '@tenantry/guard/postgres'
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from 'aws-lambda'
import type postgres from 'postgres'

// The service of another team. It imports only the guard and its own driver.

const STEP_UP_SECONDS = 600

/** Returns the orders of the principal's tenant, the newest first. The guard of the table chooses the tenant. */
const listOrders = (sql: postgres.Sql, principal: AnyPrincipal) =>
  readInTenant(
    sql,
    principal,
    (tx) => tx<{ id: string; title: string; tenant_id: string }[]>`
      select id, title, tenant_id from orders.orders order by created_at desc, id limit 100`,
  )

export const createOrder = (sql: postgres.Sql, principal: AnyPrincipal, title: string) =>
  writeInTenant(sql, principal, 'deal.write', async (tx) => {
    const [order] = await tx<{ id: string; title: string }[]>`
      insert into orders.orders (title) values (${title}) returning id, title`
    return order
  })

/** Deletes every order of the tenant. The database checks the step-up again. */
const clearOrders = (sql: postgres.Sql, principal: AnyPrincipal) =>
  writeInTenant(sql, principal, 'deal.write', (tx) => tx<{ id: string }[]>`delete from orders.orders returning id`, {
    stepUpSeconds: STEP_UP_SECONDS,
  })

const json = (statusCode: number, body: unknown): APIGatewayProxyResult => ({
  statusCode,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

/** Returns the handler of the Lambda. A deployed one takes the options of the guard from its environment. */
export const ordersHandler = (sql: postgres.Sql, options: GuardOptions = {}) =>
  createGuard(options).protect(
    {
      'GET /orders': 'deal.read',
      // The storefront of a tenant places its orders with an API key.
      'POST /orders': { permission: 'deal.write', principals: ['session', 'key'] },
      'DELETE /orders': { permission: 'deal.write', stepUpSeconds: STEP_UP_SECONDS },
    },
    async (event: APIGatewayProxyEvent, principal, _context: Context) => {
      if (event.httpMethod === 'GET') return json(200, { data: await listOrders(sql, principal) })
      if (event.httpMethod === 'DELETE') return json(200, { deleted: (await clearOrders(sql, principal)).length })
      const { title }: { title?: unknown } = JSON.parse(event.body ?? '{}')
      if (typeof title !== 'string' || title === '' || title.length > 200) return json(422, { title: 'Invalid title' })
      return json(201, await createOrder(sql, principal, title))
    },
  )
