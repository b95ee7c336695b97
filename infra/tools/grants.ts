import { execFileSync } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { functionsPage } from './functions-page.ts'
import { writeGenerated } from './generated.ts'
import { CLASSIFICATION, withPeriods } from './kept.ts'
import { readOpenPolicies } from './open-policies.ts'
import { MIGRATIONS } from '#infra/local/postgres/database.ts'
import { startPostgres } from '#infra/local/postgres/postgres.ts'
import { migrate } from '#shared/db/migrate.ts'
import { readDefinitions } from '#shared/doctor/definitions.ts'
import { readFunctions } from '#shared/doctor/functions.ts'
import { readGrants } from '#shared/doctor/grants.ts'

// Migrates a new database and writes what it grants, the list of its functions, a digest of each definition and how long rows are kept. Review the diff of the files as you review the
// migration. `--check` only says whether they are up to date.

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Writes a list as `npm run format` would. */
function writeList(path: string, list: object): Promise<void> {
  const input = JSON.stringify(list, null, 2)
  const text = execFileSync('biome', ['format', `--stdin-file-path=${path}`], { cwd: ROOT, input, encoding: 'utf8' })
  return writeGenerated(ROOT + path, text, 'npm run grants')
}

const folder = await mkdtemp(join(tmpdir(), 'tenantry-grants-'))
// Postgres does not run as root, and must be able to enter.
await chmod(folder, 0o711)
const server = await startPostgres({ dataDir: join(folder, 'data'), durable: false })
const sql = postgres(server.adminUrl, { max: 1 })
try {
  await migrate(server.adminUrl, MIGRATIONS)
  const functions = await readFunctions(sql)
  await writeList('shared/doctor/grants.json', await readGrants(sql))
  await writeList('shared/doctor/functions.json', functions)
  const definitions = await sql.begin(async (tx) => {
    await tx`select set_config('search_path', 'pg_catalog, pg_temp', true)`
    return readDefinitions(tx)
  })
  await writeList('shared/doctor/definitions.json', definitions)
  await writeGenerated(
    `${ROOT}migrations/functions.md`,
    functionsPage(functions, await readOpenPolicies(sql)),
    'npm run grants',
  )
  const page = await readFile(CLASSIFICATION, 'utf8')
  await writeGenerated(CLASSIFICATION, await withPeriods(page, sql), 'npm run grants')
} finally {
  await sql.end({ timeout: 1 })
  await server.stop('immediate')
  await rm(folder, { recursive: true, force: true })
}
