import { execFile } from 'node:child_process'
import { chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { runAs } from '#infra/local/postgres/postgres-files.ts'
import { type Postgres, startPostgres } from '#infra/local/postgres/postgres.ts'

const run = promisify(execFile)

// What a backup leaves out: https://www.postgresql.org/docs/17/continuous-archiving.html#BACKUP-LOWLEVEL-BASE-BACKUP-DATA
const LEFT_OUT = [
  'postmaster.pid',
  'postmaster.opts',
  'pg_replslot',
  'pg_wal',
  'postgresql.auto.conf',
  'standby.signal',
]
// A file that disappears during the copy fails it.
const ATTEMPTS = 3

/** The files of a server. */
export interface Home {
  readonly dataDir: string
  readonly port: number
  readonly adminUrl: string
}

/**
 * Copies a running server and starts the copy as its standby, which follows it from then on. The package has no pg_basebackup, so
 * this takes its steps: https://www.postgresql.org/docs/17/continuous-archiving.html#BACKUP-LOWLEVEL-BASE-BACKUP
 */
export async function startStandby(primary: Home, dataDir: string): Promise<Postgres> {
  const from = join(primary.dataDir, 'cluster')
  const to = join(dataDir, 'cluster')
  await mkdir(dataDir, { recursive: true, mode: 0o755 })
  await writeFile(join(dataDir, 'password'), await readFile(join(primary.dataDir, 'password')), { mode: 0o600 })
  const sql = postgres(primary.adminUrl, { max: 1, fetch_types: false, onnotice: () => {} })
  try {
    await sql`select pg_create_physical_replication_slot('standby', true)
               where not exists (select from pg_replication_slots where slot_name = 'standby')`
    await sql`select pg_backup_start('standby', true)`
    await copy(from, to)
    const [backup] = await sql<{ labelfile: string }[]>`select labelfile from pg_backup_stop(false)`
    const { password } = new URL(primary.adminUrl)
    const source = `host=127.0.0.1 port=${primary.port} user=postgres password=${password}`
    const own = {
      backup_label: backup?.labelfile ?? '',
      'standby.signal': '',
      'postgresql.auto.conf': `primary_conninfo = '${source}'\nprimary_slot_name = 'standby'\nwal_retrieve_retry_interval = '200ms'\n`,
    }
    for (const folder of ['pg_wal', 'pg_replslot']) await ours(join(to, folder), (path) => mkdir(path, { mode: 0o700 }))
    for (const [name, text] of Object.entries(own))
      await ours(join(to, name), (path) => writeFile(path, text, { mode: 0o600 }))
  } finally {
    await sql.end({ timeout: 1 })
  }
  return startPostgres({ dataDir, durable: true })
}

/** Makes a file or folder for the user that Postgres runs as. */
async function ours(path: string, make: (path: string) => Promise<unknown>): Promise<void> {
  await make(path)
  if (runAs.uid !== undefined && runAs.gid !== undefined) await chown(path, runAs.uid, runAs.gid)
}

async function copy(from: string, to: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    await rm(to, { recursive: true, force: true })
    try {
      await run('cp', ['-a', from, to])
      break
    } catch (error) {
      if (attempt === ATTEMPTS) throw error
    }
  }
  for (const name of LEFT_OUT) await rm(join(to, name), { recursive: true, force: true })
}
