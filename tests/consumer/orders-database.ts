import { readFile } from 'node:fs/promises'
import type postgres from 'postgres'

const file = (name: string): Promise<string> => readFile(new URL(`database/${name}`, import.meta.url), 'utf8')

/** Migrates the schema of the sample service into a database. Returns the URL of its login. `admin` is a superuser. */
export async function createOrdersSchema(admin: postgres.Sql, databaseUrl: string): Promise<string> {
  await admin.begin(async (tx) => {
    // Roles belong to the cluster, and other tests may create the same.
    await tx`select pg_advisory_xact_lock(hashtext('the roles of the sample service'))`
    await tx.unsafe(await file('roles.sql'))
    await tx.unsafe(await file('0001-orders.sql'))
  })
  const url = new URL(databaseUrl)
  url.username = 'orders_app'
  url.password = 'orders'
  return url.href
}
