import type { Database, Sql } from '#shared/db/connect.ts'
import type { Run } from '#shared/db/run.ts'

declare const tenantScope: unique symbol
declare const sessionScope: unique symbol

/** Runs statements inside one tenant's transaction. SQL on tenant tables takes this type, so it cannot run unscoped. */
export type TenantTransaction = Sql & { readonly [tenantScope]: true }

/** Statements outside of every tenant, each in a transaction of its own, and transactions there. */
export type Unscoped = Sql & Pick<Database, 'write'>

export const unscoped = ({ sql, write }: Database): Unscoped => {
  const run: Run = (text, ...values) => sql(text, ...values)
  return Object.assign(run, { invoking: sql.invoking, write })
}

/** The statements that enter a tenant. Each begins with app.enter_to_read or app.enter_to_write. */
export interface Entry {
  readonly toRead: (sql: Sql) => Promise<unknown>
  readonly toWrite: (sql: Sql) => Promise<unknown>
}

/** What a write of a member requires. */
export interface Requirement {
  /** Null only for reads. */
  readonly permission: string | null
  /** Whether such writes in one tenant take turns. */
  readonly exclusive: boolean
  /** The greatest age in seconds of the session's last step-up, or null when the write needs none. */
  readonly stepUpSeconds: number | null
}

const NOTHING: Requirement = { permission: null, exclusive: false, stepUpSeconds: null }

/** The entry by a ticket. A ticket without a session requires nothing. */
export const entryBy = (ticket: Uint8Array, { permission, exclusive, stepUpSeconds } = NOTHING): Entry => ({
  toRead: (sql) => sql`select app.enter_to_read(${ticket})`,
  toWrite: (sql) => sql`select app.enter_to_write(${ticket}, ${permission}, ${exclusive}, ${stepUpSeconds})`,
})

/**
 * Proof of the right to act in one tenant: a session's ticket, a job's lease, an invitation's token or an operator's
 * reason. The database checks it when a transaction enters the tenant; the id of a tenant opens nothing. Its field is
 * private, so no log contains it.
 */
export class TenantProof {
  readonly #entry: () => Entry | Promise<Entry>

  constructor(entry: () => Entry | Promise<Entry>) {
    this.#entry = entry
  }

  /**
   * Runs a read in the tenant's scope, in one read-only transaction: row security shows that tenant's rows and no other.
   */
  async read<T>(database: Database, work: (sql: TenantTransaction) => Promise<T>): Promise<T> {
    const { toRead } = await this.#entry()
    return database.read((sql) => behind(toRead(sql), () => work(sql as TenantTransaction)))
  }

  /**
   * Runs a write in the tenant's scope, in one transaction. A member's transaction first locks and checks again what the
   * session check found (app.enter_to_write): no write commits after the service confirmed a revocation or a change of
   * role that forbids it. Throws the PostgresError TN401, TN403 or TN428 when the check fails: no statement of `work` runs then.
   */
  async write<T>(database: Database, work: (sql: TenantTransaction) => Promise<T>): Promise<T> {
    const { toWrite } = await this.#entry()
    return database.write((sql) => behind(toWrite(sql), () => work(sql as TenantTransaction)))
  }

  /** Enters the tenant to write, in a transaction that began without one. */
  async enter(sql: Sql): Promise<TenantTransaction> {
    const { toWrite } = await this.#entry()
    await toWrite(sql)
    return sql as TenantTransaction
  }
}

/**
 * Runs `work` in the round trip of the entry: its first statements travel with it, and Postgres runs none after an entry that
 * failed. Throws the error of the entry before that of `work`.
 */
async function behind<T>(entry: Promise<unknown>, work: () => Promise<T>): Promise<T> {
  entry.catch(() => {})
  try {
    return await work()
  } finally {
    await entry
  }
}

/** Opens transactions for one principal. Each call is a transaction of its own. */
interface Transactions<Read extends Sql, Write extends Sql> {
  readonly read: <T>(work: (sql: Read) => Promise<T>) => Promise<T>
  readonly write: <T>(work: (sql: Write) => Promise<T>) => Promise<T>
}

/** The transactions of a member, in the scope of the tenant. `proof` opens those of the vault. */
export type TenantTransactions = Transactions<TenantTransaction, TenantTransaction> & { readonly proof: TenantProof }

export const tenantTransactions = (database: Database, proof: TenantProof): TenantTransactions => ({
  read: (work) => proof.read(database, work),
  write: (work) => proof.write(database, work),
  proof,
})

/** Runs statements inside a transaction that has checked its session under locks. It is in the scope of no tenant. */
export type SessionTransaction = Sql & { readonly [sessionScope]: true }

/**
 * The transactions of a session. `write` first locks the user and checks the session again (app.enter_session): no write
 * commits after a revocation of the session was confirmed. It throws the PostgresError TN401 when the session is no longer
 * live, and TN428 when it has not stepped up in the last `stepUpSeconds`: no statement of `work` runs then.
 */
export type SessionTransactions = Transactions<Sql, SessionTransaction>

export const sessionTransactions = (
  database: Database,
  ticket: Uint8Array,
  stepUpSeconds: number | null,
): SessionTransactions => ({
  read: (work) => database.read(work),
  write: (work) =>
    database.write((sql) =>
      behind(sql`select app.enter_session(${ticket}, ${stepUpSeconds})`, () => work(sql as SessionTransaction)),
    ),
})
