import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { MIGRATIONS } from '#infra/local/postgres/database.ts'
import { startPostgres } from '#infra/local/postgres/postgres.ts'
import { migrate } from '#shared/db/migrate.ts'
import { readGrants } from '#shared/doctor/grants.ts'

// Migrates a new database and writes what it grants. Review the file's diff as you review the migration.
const folder = await mkdtemp(join(tmpdir(), 'tenantry-grants-'))
// Postgres does not run as root, and must be able to enter.
await chmod(folder, 0o711)
const server = await startPostgres({ dataDir: join(folder, 'data'), durable: false })
const sql = postgres(server.adminUrl, { max: 1 })
try {
  await migrate(server.adminUrl, MIGRATIONS)
  const file = fileURLToPath(new URL('../../shared/doctor/grants.json', import.meta.url))
  await writeFile(file, `${JSON.stringify(await readGrants(sql), null, 2)}\n`)
} finally {
  await sql.end({ timeout: 1 })
  await server.stop('immediate')
  await rm(folder, { recursive: true, force: true })
}
