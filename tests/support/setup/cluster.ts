import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import type { TestProject } from 'vitest/node'
import { prepareDatabase } from '#infra/local/postgres/database.ts'
import { startPostgres } from '#infra/local/postgres/postgres.ts'
import { seed } from '#infra/local/seed.ts'
import { ROLE_PASSWORD, TEMPLATE } from './template.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The superuser's URL of the database `postgres` in the test cluster. */
    adminUrl: string
  }
}

/** Starts one cluster for the whole run, with the template database. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-test-'))
  // Postgres does not run as root, and must be able to enter.
  await chmod(folder, 0o711)
  const cluster = await startPostgres({ dataDir: join(folder, 'data'), durable: false })
  const { databaseUrl } = await prepareDatabase(cluster.adminUrl, { name: TEMPLATE, rolePassword: ROLE_PASSWORD })
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  // The cheapest settings of Argon2id.
  await seed(sql, { memoryKib: 64, iterations: 1 })
  await sql.end()
  project.provide('adminUrl', cluster.adminUrl)
  return async () => {
    await cluster.stop('immediate')
    await rm(folder, { recursive: true, force: true })
  }
}
