import type { ClientBase, Pool } from 'pg'
import type { Permission } from './permission.ts'
import type { AnyPrincipal } from './principal.ts'
import { type Entry, inTenant, type TransactionOptions } from './tenant-transaction.ts'

export { TenantRefused, type TransactionOptions } from './tenant-transaction.ts'

/** The client of one transaction. */
export type TenantClient = Pick<ClientBase, 'query'>

/**
 * Runs a read in the tenant of the principal, with a pool of pg: your guarded tables show that tenant's rows and no other.
 * With `pipeline: true` in the options of the pool it takes one round trip for the first statement and one to end; without it
 * two more. Throws TenantRefused when the session is no longer live. Send only statements in `work`: it starts before the database
 * has checked the session.
 */
export const readInTenant = <T>(
  pool: Pool,
  principal: Pick<AnyPrincipal, 'proof'>,
  work: (client: TenantClient) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> => transaction(pool, { ...options, mode: 'read only', principal, permission: null }, work)

/**
 * Runs a write in the tenant of the principal, as `readInTenant` does. The database locks and checks session, permission and step-up
 * again: nothing commits after a revocation was confirmed. Throws TenantRefused then.
 */
export const writeInTenant = <T>(
  pool: Pool,
  principal: Pick<AnyPrincipal, 'proof'>,
  permission: Permission,
  work: (client: TenantClient) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> => transaction(pool, { ...options, mode: 'read write', principal, permission }, work)

async function transaction<T>(pool: Pool, entry: Entry, work: (client: TenantClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let lost: Error | null = null
  const onLost = (error: Error): void => {
    lost = error
  }
  // Without a listener, a connection that is lost between two statements would end the process.
  client.on('error', onLost)
  let isOver = false
  const tenantClient = new Proxy(client, {
    get: (of, name) => {
      if (isOver) throw new Error('a statement was run after the end of its transaction')
      const member: unknown = Reflect.get(of, name)
      return typeof member === 'function' ? member.bind(of) : member
    },
  })
  const control = async (text: string): Promise<string[]> => {
    const results: unknown = await client.query(text)
    return [results].flat(1).map((result) => String(Object(result).command))
  }
  const enter = (proof: Uint8Array, permission: string | null, stepUpSeconds: number | null) =>
    client.query('select app.enter($1, $2, $3)', [proof, permission, stepUpSeconds])
  try {
    return await inTenant({ sql: tenantClient, control, enter }, entry, work)
  } finally {
    isOver = true
    client.off('error', onLost)
    client.release(lost ?? false)
  }
}
