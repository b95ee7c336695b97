import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { errorCode } from '#shared/db/failure.ts'
import type { clientOptions } from '#shared/db/login.ts'
import { log } from '#shared/log.ts'

interface Migration {
  readonly name: string
  readonly checksum: string
  readonly text: string
  /** Null for a file in a transaction of its own, which is every file without NO_TRANSACTION at its head. */
  readonly aloneAs: string | null
}

/**
 * The files and the database disagree on what was applied, and nothing was changed; or one file failed, of which nothing is
 * left. `code` is the server's SQLSTATE, or ''.
 */
export class MigrationError extends Error {
  override name = 'MigrationError'
  readonly code: string

  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.code = errorCode(cause)
  }
}

/** How long a run waits for others. Functions serve while it runs, so each wait for a lock is short. */
export interface Patience {
  /**
   * A statement that waits for a table keeps everybody else waiting behind it, also those who only read
   * (https://www.postgresql.org/docs/17/explicit-locking.html). So it gives up before a client does, who waits 2.5 s.
   */
  readonly lockTimeoutMs: number
  /** How often a file is tried whose locks were not to be had, or that met a deadlock. */
  readonly tries: number
  /** Between two tries, for those who were kept waiting. */
  readonly pauseMs: number
  readonly statementTimeoutMs: number
  /** For the end of another run. */
  readonly otherRunMs: number
}

const PATIENCE: Patience = {
  lockTimeoutMs: 1000,
  tries: 30,
  pauseMs: 1000,
  statementTimeoutMs: 300_000,
  otherRunMs: 600_000,
}

// The first line of a file with one statement that Postgres runs in no transaction block, and the role that runs it.
const NO_TRANSACTION = /^-- migrate: no-transaction as (\w+)\n/

/** Reads `NNNN-name.sql` files in order. Throws MigrationError on a gap, a number used twice or any other file. */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).toSorted()
  return Promise.all(
    names.map(async (name, index) => {
      const expected = String(index + 1).padStart(4, '0')
      if (!/^\d{4}-[a-z0-9-]+\.sql$/.test(name) || !name.startsWith(expected)) {
        throw new MigrationError(`Expected a file ${expected}-name.sql in place of ${name}`)
      }
      const text = await readFile(join(folder, name), 'utf8')
      const checksum = createHash('sha256').update(text).digest('hex')
      return { name, checksum, text, aloneAs: NO_TRANSACTION.exec(text)?.[1] ?? null }
    }),
  )
}

/**
 * Applies the migrations that the database has not seen, in order, each in a transaction of its own together with its
 * row in `migrations.applied`. One run at a time, by an advisory lock; others wait for it. `server`, a URL or
 * options, names a login that may create roles and that is reached directly (a pooler would lose the lock). What a migration warns of, such as something
 * that this login may not do, is logged.
 * A file that begins with `-- migrate: no-transaction as ROLE` holds the one statement `create index concurrently if not
 * exists` or `drop index concurrently if exists`, and is run again from the start when it did not come to its end.
 * Returns the names applied now. Throws MigrationError when an applied file was changed or is missing, and when one fails.
 */
export async function migrate(
  server: string | ReturnType<typeof clientOptions>,
  folder: string,
  patience: Patience = PATIENCE,
): Promise<string[]> {
  const migrations = await readMigrations(folder)
  const onnotice = ({ severity, message }: postgres.Notice): void => {
    if (severity === 'WARNING' && message !== undefined) log.warn(message)
  }
  const options = { max: 1, fetch_types: false, connect_timeout: 10, onnotice }
  const sql = typeof server === 'string' ? postgres(server, options) : postgres({ ...server, ...options })
  try {
    await waitForOtherRuns(sql, patience)
    await sql`create schema if not exists migrations`
    await sql`
      create table if not exists migrations.applied (
        name text primary key, checksum text not null, applied_at timestamptz not null default now()
      )`
    const applied = await sql<{ name: string; checksum: string }[]>`
      select name, checksum from migrations.applied order by name`
    compare(applied, migrations)
    const pending = migrations.slice(applied.length)
    for (const migration of pending) {
      if (migration.aloneAs === null) await applyInTransaction(sql, migration, patience)
      else await applyAlone(sql, migration, migration.aloneAs, patience)
    }
    return pending.map(({ name }) => name)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

const OTHER_RUN_POLL_MS = 200

// Asked again and again, since whoever waits inside a statement holds a snapshot, and an index that the other run builds
// concurrently waits for the end of every older snapshot: a deadlock.
async function waitForOtherRuns(sql: postgres.Sql, { otherRunMs }: Patience): Promise<void> {
  const deadline = Date.now() + otherRunMs
  for (;;) {
    const [row] = await sql<{ free: boolean }[]>`
      select pg_try_advisory_lock(hashtext('tenantry migrations')) as free`
    if (row?.free === true) return
    if (Date.now() > deadline) throw new MigrationError(`Another run of the migrations did not end in ${otherRunMs} ms`)
    await delay(OTHER_RUN_POLL_MS)
  }
}

const LOCK_NOT_AVAILABLE = '55P03'
const DEADLOCK_DETECTED = '40P01'

async function applyInTransaction(sql: postgres.Sql, migration: Migration, patience: Patience): Promise<void> {
  const { name, checksum, text } = migration
  const { lockTimeoutMs, statementTimeoutMs, pauseMs, tries } = patience
  for (let attempt = 1; ; attempt += 1) {
    try {
      await sql.begin(async (tx) => {
        await tx`select set_config('lock_timeout', ${String(lockTimeoutMs)}, true),
                        set_config('statement_timeout', ${String(statementTimeoutMs)}, true)`
        await tx.unsafe(text)
        await tx`reset role`
        await tx`insert into migrations.applied (name, checksum) values (${name}, ${checksum})`
      })
      return
    } catch (error) {
      const busy = [LOCK_NOT_AVAILABLE, DEADLOCK_DETECTED].includes(errorCode(error))
      if (!busy) throw failed(name, error)
      if (attempt === tries) {
        throw new MigrationError(
          `Migration ${name} did not get its locks in ${tries} tries of ${lockTimeoutMs} ms: some transaction holds them`,
          error,
        )
      }
      await delay(pauseMs)
    }
  }
}

// https://www.postgresql.org/docs/17/sql-createindex.html#SQL-CREATEINDEX-CONCURRENTLY: a build that did not come to its
// end leaves an invalid index, which IF NOT EXISTS would take for the wanted one. Its lock stops neither reads nor writes,
// so it may wait for it.
async function applyAlone(sql: postgres.Sql, migration: Migration, role: string, patience: Patience): Promise<void> {
  const { name, checksum, text } = migration
  try {
    await sql`select set_config('role', ${role}, false), set_config('lock_timeout', '0', false),
                     set_config('statement_timeout', ${String(patience.statementTimeoutMs)}, false)`
    const [, index = '', schema = ''] = /\bconcurrently\s+if\s+not\s+exists\s+(\w+)\s+on\s+(\w+)\./i.exec(text) ?? []
    const [invalid] = await sql<{ name: string }[]>`
      select format('%I.%I', n.nspname, c.relname) as name
        from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
       where n.nspname = ${schema.toLowerCase()} and c.relname = ${index.toLowerCase()} and not i.indisvalid`
    if (invalid !== undefined) await sql.unsafe(`drop index concurrently ${invalid.name}`)
    await sql.unsafe(text)
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
    if (file === undefined) throw new MigrationError(`Migration ${row.name} was applied, and its file is missing`)
    if (file.checksum !== row.checksum) {
      throw new MigrationError(`Migration ${row.name} was changed after it was applied; write a new one instead`)
    }
    if (files[index] !== file)
      throw new MigrationError(`Migration ${files[index]?.name} comes before the applied ${row.name}`)
  }
}
