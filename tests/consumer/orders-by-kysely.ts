import { readInTenant, type TenantClient, writeInTenant } from '@tenantry/guard/pg'
import { type Generated, Kysely, PostgresDialect } from 'kysely'
import type { Principal } from '@tenantry/guard'
import type { Pool } from 'pg'

interface Tables {
  'orders.orders': { id: Generated<string>; title: string }
}

/** Kysely on the one connection of a transaction. */
const kysely = (client: TenantClient) => {
  const connection = { query: client.query.bind(client), release: () => {} }
  const pool = { connect: async () => connection, end: async () => {}, options: {} }
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
}

export const listOrders = (pool: Pool, principal: Principal) =>
  readInTenant(pool, principal, (client) =>
    kysely(client).selectFrom('orders.orders').select(['id', 'title']).execute(),
  )

export const createOrder = (pool: Pool, principal: Principal, title: string) =>
  writeInTenant(pool, principal, 'deal.write', (client) =>
    kysely(client).insertInto('orders.orders').values({ title }).returning(['id', 'title']).execute(),
  )
