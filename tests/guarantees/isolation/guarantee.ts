import type postgres from 'postgres'
import { errorCode } from '#shared/db/failure.ts'
import { ticketFor } from '#tests/support/proof.ts'
import type { TenantTable, TwoTenants } from './two-tenants.ts'

/**
 * A promise and its check. `holds` throws when the promise is broken. It gets a connection inside a transaction, as
 * identity_app, and leaves nothing behind.
 */
export interface Guarantee {
  readonly title: string
  readonly holds: (sql: postgres.Sql) => Promise<void>
}

/** Checks a guarantee after some statements, on a superuser's connection, which can become every role. Rolls back. */
export async function holdsAfter(
  admin: postgres.Sql,
  statements: readonly string[],
  { holds }: Guarantee,
): Promise<void> {
  await admin`begin`
  try {
    // Without its guard, a function may try for ever.
    await admin`set local statement_timeout = '20s'`
    for (const statement of statements) await admin.unsafe(statement)
    await admin`set local role identity_app`
    await holds(admin)
  } finally {
    await admin`rollback`
  }
}

/** The result of a statement. */
export interface Outcome {
  /** Rows returned or changed. */
  readonly count: number
  /** The SQLSTATE of its error, or ''. */
  readonly code: string
}

/** The SQLSTATE when a grant or a policy refuses a statement. */
export const REFUSED = '42501'

const UNDO = 'rollback to savepoint attempt; release savepoint attempt'

/** Runs a statement and rolls it back, unless `kept`. Its messages travel together, and so do those of several attempts. */
export async function attempt(
  sql: postgres.Sql,
  statement: string,
  parameters: (string | null)[] = [],
  kept = false,
): Promise<Outcome> {
  const begun = sql.unsafe('savepoint attempt').execute()
  const tried = sql.unsafe(statement, parameters).then(
    ({ count }) => ({ count: count ?? 0, code: '' }),
    (error: unknown) => {
      if (errorCode(error) === '') throw error
      return { count: 0, code: errorCode(error) }
    },
  )
  if (!kept) return (await Promise.all([tried, begun, sql.unsafe(UNDO).execute()]))[0]
  const [outcome] = await Promise.all([tried, begun])
  if (outcome.code !== '') await sql.unsafe(UNDO)
  return outcome
}

const homes = new WeakMap<postgres.Sql, string>()

/** Runs `work` as another role. `none` is the superuser that the connection belongs to. */
export async function as<T>(sql: postgres.Sql, role: string, work: () => Promise<T>): Promise<T> {
  const become = (name: string) => sql.unsafe(`set local role ${name}`)
  const [, done] = await Promise.all([become(role).execute(), work()])
  await become(homes.get(sql) ?? 'identity_app')
  return done
}

/** Returns the guarantee for another role than identity_app. Requires a connection that may become any role. */
export const heldBy = (role: string, { title, holds }: Guarantee): Guarantee => ({
  title,
  holds: async (sql) => {
    homes.set(sql, role)
    try {
      await as(sql, role, () => holds(sql))
    } finally {
      homes.delete(sql)
    }
    await sql`set local role identity_app`
  },
})

/** The guarantees of SECURITY DEFINER functions, by name. `npm test` requires one for each: see migrations/README.md. */
export type FunctionGuarantees = Readonly<Record<string, (world: TwoTenants, name: string) => Guarantee>>

/** Returns the tenants of the matching rows in order, as a superuser sees them. */
export const tenantsOf = (sql: postgres.Sql, table: string, condition: string, parameters: (string | null)[]) =>
  as(sql, 'none', async () => {
    const rows = await sql.unsafe<{ tenant_id: string | null }[]>(
      `select tenant_id from ${table} where ${condition} order by tenant_id`,
      parameters,
    )
    return rows.map((row) => row.tenant_id)
  })

const issuers = new WeakMap<postgres.Sql, postgres.Sql>()

/** Lets `enterTenant` set the tenant on a connection that cannot become a superuser: `admin` issues its tickets. */
export const entersBy = (sql: postgres.Sql, admin: postgres.Sql) => void issuers.set(sql, admin)

/** Sets the tenant, or none, until the transaction ends: as a superuser, or by a ticket. */
export async function enterTenant(sql: postgres.Sql, tenant: string | null): Promise<void> {
  const admin = issuers.get(sql)
  if (admin === undefined) {
    await sql.unsafe(`
      do $$
      declare
        v_role text := current_setting('role');
      begin
        set local role none;
        perform app.set_tenant(${tenant === null ? 'null' : `'${tenant}'`});
        perform set_config('role', v_role, true);
      end
      $$`)
  } else if (tenant === null) {
    await sql`select set_config('app.scope', '', true)`
  } else {
    await sql`select app.enter_to_write(${await ticketFor(admin, tenant)}, null, false)`
  }
}

/** Returns whether the grants allow a privilege. Without it a refused statement proves nothing about row security. */
export async function allowed(sql: postgres.Sql, table: TenantTable, privilege: string): Promise<boolean> {
  const [row] = await sql<{ allowed: boolean }[]>`
    select has_column_privilege(${table.name}, ${table.column}, ${privilege}) as allowed`
  return row?.allowed ?? false
}

/** Returns the ticket of a session without a tenant, in hex: also for a user or a session that no session check finds. */
export const sealedTicket = (
  sql: postgres.Sql,
  { user = null, session = null }: { user?: string | null; session?: string | null },
): Promise<string> =>
  as(sql, 'none', async () => {
    const [row] = await sql<{ ticket: string }[]>`
      select encode(app.seal_ticket('session', null, ${user}, ${session}, 1, 'password', now()), 'hex') as ticket`
    return row?.ticket ?? ''
  })
