import { readInTenant, writeInTenant } from '@tenantry/guard/postgres'
import { pgSchema, text, uuid } from 'drizzle-orm/pg-core'
import { drizzle } from 'drizzle-orm/postgres-js'
import type { Principal } from '@tenantry/guard'
import type postgres from 'postgres'

// Drizzle names each of these columns in an insert. The grant of the table must name them too: `grant insert (id, title)`.
const orders = pgSchema('orders').table('orders', { id: uuid().defaultRandom(), title: text().notNull() })

export const listOrders = (sql: postgres.Sql, principal: Principal) =>
  readInTenant(sql, principal, (tx) =>
    drizzle(tx as postgres.Sql)
      .select()
      .from(orders),
  )

export const createOrder = (sql: postgres.Sql, principal: Principal, title: string) =>
  writeInTenant(sql, principal, 'deal.write', (tx) =>
    drizzle(tx as postgres.Sql)
      .insert(orders)
      .values({ title })
      .returning(),
  )
