import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import postgres from 'postgres'
import { log } from '#shared/log.ts'

interface Migration {
  readonly name: string
  readonly checksum: string
  readonly text: string
}

/** The files and the database disagree on what was applied. Nothing was changed. */
export class MigrationError extends Error {
  override name = 'MigrationError'
}

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
      return { name, checksum: createHash('sha256').update(text).digest('hex'), text }
    }),
  )
}

/**
 * Applies the migrations that the database has not seen, in order, each in a transaction of its own together with its
 * row in `migrations.applied`. One run at a time, by an advisory lock; others wait for it. `url` is a login that may
 * create roles and that is reached directly (a pooler would lose the lock). What a migration warns of, such as something
 * that this login may not do, is logged.
 * Returns the names applied now. Throws MigrationError when an applied file was changed or is missing.
 */
export async function migrate(url: string, folder: string): Promise<string[]> {
  const migrations = await readMigrations(folder)
  const onnotice = ({ severity, message }: postgres.Notice): void => {
    if (severity === 'WARNING' && message !== undefined) log.warn(message)
  }
  const sql = postgres(url, { max: 1, fetch_types: false, connect_timeout: 10, onnotice })
  try {
    await sql`select pg_advisory_lock(hashtext('tenantry migrations'))`
    await sql`create schema if not exists migrations`
    await sql`
      create table if not exists migrations.applied (
        name text primary key, checksum text not null, applied_at timestamptz not null default now()
      )`
    const applied = await sql<{ name: string; checksum: string }[]>`
      select name, checksum from migrations.applied order by name`
    compare(applied, migrations)
    const pending = migrations.slice(applied.length)
    for (const { name, checksum, text } of pending) {
      await sql.begin(async (tx) => {
        await tx.unsafe(text)
        await tx`reset role`
        await tx`insert into migrations.applied (name, checksum) values (${name}, ${checksum})`
      })
    }
    return pending.map(({ name }) => name)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

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
