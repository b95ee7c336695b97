import type postgres from 'postgres'
import { errorCode } from '#shared/db/failure.ts'
import type { TenantTable } from './two-shops.ts'

/**
 * A promise, and what throws when it is not kept. `holds` is given a connection inside a transaction in which the
 * current role is identity_app, and leaves nothing behind.
 */
export interface Guarantee {
  readonly title: string
  readonly holds: (sql: postgres.Sql) => Promise<void>
}

/** What became of a statement. */
export interface Outcome {
  /** Rows returned or changed. */
  readonly count: number
  /** The SQLSTATE of its refusal, or ''. */
  readonly code: string
}

/** The SQLSTATE of what a grant or a policy refuses. */
export const REFUSED = '42501'

/** Runs a statement and takes it back, unless it is to be kept. */
export async function attempt(
  sql: postgres.Sql,
  statement: string,
  parameters: (string | null)[] = [],
  kept = false,
): Promise<Outcome> {
  await sql`savepoint attempt`
  let undone = !kept
  try {
    const { count } = await sql.unsafe(statement, parameters)
    return { count: count ?? 0, code: '' }
  } catch (error) {
    undone = true
    if (errorCode(error) === '') throw error
    return { count: 0, code: errorCode(error) }
  } finally {
    if (undone) await sql`rollback to savepoint attempt`
  }
}

/** Does something as another role, on a connection that may become any; `none` is the superuser whose it is. */
export async function as<T>(sql: postgres.Sql, role: string, work: () => Promise<T>): Promise<T> {
  await sql.unsafe(`set local role ${role}`)
  const done = await work()
  await sql`set local role identity_app`
  return done
}

/** The tenants of the rows that match, seen past every guard, in order. */
export const tenantsOf = (sql: postgres.Sql, table: string, condition: string, parameters: (string | null)[]) =>
  as(sql, 'none', async () => {
    const rows = await sql.unsafe<{ tenant_id: string | null }[]>(
      `select tenant_id from ${table} where ${condition} order by tenant_id`,
      parameters,
    )
    return rows.map((row) => row.tenant_id)
  })

/** Acts for a tenant, or for none, until the transaction ends. */
export const enterTenant = (sql: postgres.Sql, tenant: string | null) => sql`select app.set_tenant(${tenant})`

/** A statement on a table that its grants forbid is refused as well; only what they allow must be seen to work. */
export async function allowed(sql: postgres.Sql, table: TenantTable, privilege: string): Promise<boolean> {
  const [row] = await sql<{ allowed: boolean }[]>`
    select has_column_privilege(${table.name}, ${table.column}, ${privilege}) as allowed`
  return row?.allowed ?? false
}
