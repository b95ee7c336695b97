import type { Database, Sql } from '#shared/db/connect.ts'

declare const tenantScope: unique symbol
declare const sessionScope: unique symbol

/** Runs statements inside one tenant's transaction. SQL on tenant tables takes this type, so it cannot run unscoped. */
export type TenantTransaction = Sql & { readonly [tenantScope]: true }

/** Who acts, in which tenant and by which permission, as the session check found them. */
export interface Scope {
  readonly tenantId: string
  readonly sessionId: string
  readonly roleId: number
  readonly permission: string
  /** Whether such writes in one tenant take turns. */
  readonly exclusive: boolean
}

/**
 * Runs a read in the tenant's scope, in one read-only transaction: row security shows that tenant's rows and no other.
 * Setting the scope costs no round trip of its own: it travels with the first statement.
 */
export const readInTenant = <T>(
  database: Database,
  tenantId: string,
  read: (sql: TenantTransaction) => Promise<T>,
): Promise<T> =>
  database.transaction('read only', async (sql) => {
    const scoped = sql`select app.set_tenant(${tenantId})`
    scoped.catch(() => {})
    try {
      return await read(sql as TenantTransaction)
    } finally {
      await scoped
    }
  })

/**
 * Runs a write in the tenant's scope, in one transaction that first locks and checks again what the session check
 * found (app.enter_tenant): no write commits after a revocation or a change of role that forbids it was confirmed.
 * Throws the PostgresError TN401 or TN403 before `write` is called when the check fails.
 */
export const writeInTenant = <T>(
  database: Database,
  scope: Scope,
  write: (sql: TenantTransaction) => Promise<T>,
): Promise<T> =>
  database.transaction('read write', async (sql) => {
    const { tenantId, sessionId, roleId, permission, exclusive } = scope
    await sql`select app.enter_tenant(${tenantId}, ${sessionId}, ${roleId}::smallint, ${permission}, ${exclusive})`
    return write(sql as TenantTransaction)
  })

/** Opens transactions for one principal. Each call is a transaction of its own. */
interface Transactions<Read extends Sql, Write extends Sql> {
  read<T>(work: (sql: Read) => Promise<T>): Promise<T>
  write<T>(work: (sql: Write) => Promise<T>): Promise<T>
}

/** The transactions of a member, in the scope of the tenant. */
export type TenantTransactions = Transactions<TenantTransaction, TenantTransaction>

export const tenantTransactions = (database: Database, scope: Scope): TenantTransactions => ({
  read: (work) => readInTenant(database, scope.tenantId, work),
  write: (work) => writeInTenant(database, scope, work),
})

/** Runs statements inside a transaction that has checked its session under locks. It is in the scope of no tenant. */
export type SessionTransaction = Sql & { readonly [sessionScope]: true }

/**
 * The transactions of a session. `write` first locks the user and checks the session again (app.enter_session): no write
 * commits after a revocation of the session was confirmed. It throws the PostgresError TN401 before `work` is called when
 * the session is no longer live.
 */
export type SessionTransactions = Transactions<Sql, SessionTransaction>

export const sessionTransactions = (database: Database, sessionId: string): SessionTransactions => ({
  read: (work) => database.transaction('read only', work),
  write: (work) =>
    database.transaction('read write', async (sql) => {
      await sql`select app.enter_session(${sessionId})`
      return work(sql as SessionTransaction)
    }),
})

/** Sets the tenant of a transaction that began without one: for jobs, operators and invited users without a session there. */
export async function enterTenant(sql: Sql, tenantId: string): Promise<TenantTransaction> {
  await sql`select app.set_tenant(${tenantId})`
  return sql as TenantTransaction
}
