import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { errorCode } from '#shared/db/failure.ts'
import type { clientOptions } from '#shared/db/login.ts'
import { isBusy, untilFree } from '#shared/db/until-free.ts'
import { log } from '#shared/base/log.ts'

interface Migration {
  readonly name: string
  readonly checksum: string
  readonly text: string
  /** The role that runs the file without a transaction, from its NO_TRANSACTION line. Null for every other file. */
  readonly aloneAs: string | null
}

/**
 * The files do not match what was applied, and nothing changed. Or a file failed, and its transaction was rolled back.
 * `code` is the SQLSTATE, or ''.
 */
export class MigrationError extends Error {
  override name = 'MigrationError'
  readonly code: string

  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.code = errorCode(cause)
  }
}

/** How long a run waits. Functions serve requests while it runs. */
export interface Waits {
  /**
   * Statements of other sessions queue behind a statement that waits for a table lock, even reads
   * (https://www.postgresql.org/docs/17/explicit-locking.html). So this is shorter than the 2.5 s that a client waits.
   */
  readonly lockTimeoutMs: number
  /** How often a file is tried that gets no lock or meets a deadlock. */
  readonly tries: number
  /** The pause between two tries, in which the queued statements run. */
  readonly pauseMs: number
  readonly statementTimeoutMs: number
  /** How long to wait for another run to end. */
  readonly otherRunMs: number
  /** When the whole run gives up. A deployment waits an hour for a function that times out without a response. */
  readonly totalMs: number
}

const WAITS: Waits = {
  lockTimeoutMs: 1000,
  tries: 30,
  pauseMs: 1000,
  statementTimeoutMs: 300_000,
  otherRunMs: 600_000,
  totalMs: 660_000,
}

// The first line of a file with one statement that cannot run in a transaction block, and the role that runs it.
const NO_TRANSACTION = /^-- migrate: no-transaction as (\w+)\n/

const NUMBER_LENGTH = 4

const PAGES: ReadonlySet<string> = new Set(['README.md', 'functions.md'])

/** Reads the files `NNNN-name.sql` in order. Throws MigrationError on a gap, a duplicate number, or any file but the PAGES. */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => !PAGES.has(name)).toSorted()
  return Promise.all(
    names.map(async (name, index) => {
      const expected = String(index + 1).padStart(NUMBER_LENGTH, '0')
      if (!/^\d{4}-[a-z0-9-]+\.sql$/.test(name) || !name.startsWith(expected)) {
        throw new MigrationError(`Expected a file ${expected}-name.sql, but found ${name}`)
      }
      const text = await readFile(join(folder, name), 'utf8')
      const checksum = createHash('sha256').update(text).digest('hex')
      return { name, checksum, text, aloneAs: NO_TRANSACTION.exec(text)?.[1] ?? null }
    }),
  )
}

/** Returns whether an applied migration comes after the last of the files, so that only a newer release can have applied it. */
export const isAhead = (applied: string, files: readonly { readonly name: string }[]): boolean =>
  applied.slice(0, NUMBER_LENGTH) > (files.at(-1)?.name ?? '').slice(0, NUMBER_LENGTH)

/**
 * Applies the migrations that are not yet in `migrations.applied`, in order. Each file and its row there commit in one
 * transaction. An advisory lock allows one run at a time. Logs the warnings that a migration raises.
 * A file that begins with `-- migrate: no-transaction as ROLE` is one `create index concurrently if not exists` or `drop
 * index concurrently if exists`. The next run repeats it when it did not finish.
 * `server` is a login that may create roles, and no pooler: a pooler would lose the lock.
 * A database may be ahead of the files: after a roll back, migrations of the newer release stay applied. Then nothing is applied.
 * Returns the names applied now, and those that a newer release applied. Throws MigrationError when an applied file up to the
 * last one in the folder changed or is missing, or when a file fails.
 */
export async function migrate(
  server: string | ReturnType<typeof clientOptions>,
  folder: string,
  waits: Waits = WAITS,
): Promise<{ applied: string[]; ahead: string[] }> {
  const migrations = await readMigrations(folder)
  const onnotice = ({ severity, message }: postgres.Notice): void => {
    if (severity === 'WARNING' && message !== undefined) log.warn(message)
  }
  const options = { max: 1, fetch_types: false, connect_timeout: 10, onnotice }
  const sql = typeof server === 'string' ? postgres(server, options) : postgres({ ...server, ...options })
  const deadline = Date.now() + waits.totalMs
  try {
    await waitForOtherRuns(sql, waits)
    await sql`create schema if not exists migrations`
    await sql`
      create table if not exists migrations.applied (
        name text primary key, checksum text not null, applied_at timestamptz not null default now()
      )`
    const rows = await sql<{ name: string; checksum: string }[]>`
      select name, checksum from migrations.applied order by name`
    compare(rows, migrations)
    const ahead = rows.map(({ name }) => name).filter((name) => isAhead(name, migrations))
    const pending = migrations.slice(rows.length)
    for (const migration of pending) {
      if (migration.aloneAs === null) await applyInTransaction(sql, migration, waits, deadline)
      else await applyAlone(sql, migration, waits, deadline)
    }
    return { applied: pending.map(({ name }) => name), ahead }
  } finally {
    await sql.end({ timeout: 1 })
  }
}

const OTHER_RUN_POLL_MS = 200

// Polls instead of waiting in a statement. A waiting statement holds a snapshot, and an index that the other run builds
// concurrently waits for every older snapshot: the two would deadlock.
async function waitForOtherRuns(sql: postgres.Sql, { otherRunMs }: Waits): Promise<void> {
  const deadline = Date.now() + otherRunMs
  for (;;) {
    const [row] = await sql<{ free: boolean }[]>`
      select pg_try_advisory_lock(hashtext('tenantry migrations')) as free`
    if (row?.free === true) return
    if (Date.now() > deadline)
      throw new MigrationError(`Another run of the migrations did not end within ${otherRunMs} ms`)
    await delay(OTHER_RUN_POLL_MS)
  }
}

/** Runs a file. Cancels its statement at the deadline, in milliseconds since the epoch. */
async function run(sql: postgres.Sql | postgres.TransactionSql, text: string, deadline: number): Promise<void> {
  const running = sql.unsafe(text)
  const timer = setTimeout(() => running.cancel(), Math.max(0, deadline - Date.now()))
  try {
    await running
  } catch (error) {
    if (Date.now() < deadline) throw error
    throw new MigrationError('it was cancelled, because the whole run must end before its function times out', error)
  } finally {
    clearTimeout(timer)
  }
}

// With row_security off, Postgres refuses a statement that row security would filter. The owner sees no row of a guarded table, so
// a change of data would change nothing, and say nothing
// (https://www.postgresql.org/docs/17/runtime-config-client.html#GUC-ROW-SECURITY).
async function applyInTransaction(
  sql: postgres.Sql,
  migration: Migration,
  waits: Waits,
  deadline: number,
): Promise<void> {
  const { name, checksum, text } = migration
  const { lockTimeoutMs, statementTimeoutMs } = waits
  let attempts = 0
  const apply = () => {
    attempts += 1
    return sql.begin(async (tx) => {
      await tx`select set_config('lock_timeout', ${String(lockTimeoutMs)}, true),
                      set_config('statement_timeout', ${String(statementTimeoutMs)}, true),
                      set_config('row_security', 'off', true)`
      await run(tx, text, deadline)
      await tx`reset role`
      await tx`insert into migrations.applied (name, checksum) values (${name}, ${checksum})`
    })
  }
  try {
    await untilFree({ ...waits, deadline }, apply)
  } catch (error) {
    if (!isBusy(error)) throw failed(name, error)
    throw new MigrationError(
      `Migration ${name} got no lock in ${attempts} tries of ${lockTimeoutMs} ms: another transaction holds it`,
      error,
    )
  }
}

// An interrupted build leaves an invalid index, and IF NOT EXISTS would accept it
// (https://www.postgresql.org/docs/17/sql-createindex.html#SQL-CREATEINDEX-CONCURRENTLY). So an invalid index is dropped
// first. There is no lock timeout: the lock of a concurrent build blocks neither reads nor writes.
async function applyAlone(sql: postgres.Sql, migration: Migration, waits: Waits, deadline: number): Promise<void> {
  const { name, checksum, text, aloneAs } = migration
  try {
    await sql`select set_config('role', ${aloneAs}, false), set_config('lock_timeout', '0', false),
                     set_config('statement_timeout', ${String(waits.statementTimeoutMs)}, false),
                     set_config('row_security', 'off', false)`
    const [, index = '', schema = ''] = /\bconcurrently\s+if\s+not\s+exists\s+(\w+)\s+on\s+(\w+)\./i.exec(text) ?? []
    const [invalid] = await sql<{ name: string }[]>`
      select format('%I.%I', n.nspname, c.relname) as name
        from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
       where n.nspname = ${schema.toLowerCase()} and c.relname = ${index.toLowerCase()} and not i.indisvalid`
    if (invalid !== undefined) await sql.unsafe(`drop index concurrently ${invalid.name}`)
    await run(sql, text, deadline)
    await sql`reset role`
    await sql`insert into migrations.applied (name, checksum) values (${name}, ${checksum})`
  } catch (error) {
    throw failed(name, error)
  }
}

const failed = (name: string, error: unknown): MigrationError =>
  new MigrationError(`Migration ${name} failed: ${error instanceof Error ? error.message : String(error)}`, error)

function compare(applied: readonly { name: string; checksum: string }[], files: readonly Migration[]): void {
  for (const [index, row] of applied.entries()) {
    const file = files.find(({ name }) => name === row.name)
    if (file === undefined && !isAhead(row.name, files))
      throw new MigrationError(`Migration ${row.name} was applied, but its file is missing`)
    if (file !== undefined && file.checksum !== row.checksum)
      throw new MigrationError(`Migration ${row.name} was changed after it was applied: restore it and add a new file`)
    if (files[index] !== file)
      throw new MigrationError(`Migration ${files[index]?.name} was not applied, but ${row.name} after it was`)
  }
}
