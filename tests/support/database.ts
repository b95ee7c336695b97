import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { inject } from 'vitest'
import { forEachRole, urlFor } from '#infra/local/postgres/database.ts'
import { loginName } from '#shared/db/role-settings.ts'
import type { ServiceRole } from '#shared/base/needs.ts'
import { ROLE_PASSWORD, TEMPLATE } from '#tests/support/setup/template.ts'

/** A copy of the migrated, seeded template, for one test file. */
export interface TestDatabase {
  readonly name: string
  /** As the superuser, who sees and changes every row. */
  readonly admin: postgres.Sql
  /** By the role that connects. */
  readonly urls: Readonly<Record<ServiceRole, string>>
  /** As the role of most route groups. */
  readonly appUrl: string
  /** As the jobs' role. */
  readonly workerUrl: string
  /** As the operators' role. */
  readonly operatorUrl: string
  /** As the role that handles ciphertext. */
  readonly vaultUrl: string
  drop(): Promise<void>
}

/** The password of a role. A deployment of the assembly gives each role its own. */
const passwordOf = (role: string): string => inject('assembly')?.passwords[role] ?? ROLE_PASSWORD

export async function createTestDatabase(): Promise<TestDatabase> {
  const adminUrl = inject('adminUrl')
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const cluster = postgres(adminUrl, { max: 1, onnotice: () => {} })
  await cluster`create database ${cluster(name)} template ${cluster(TEMPLATE)} strategy file_copy`
  await cluster`alter database ${cluster(name)} set search_path = app, public`
  // A copy does not get the privileges of its template.
  await cluster`revoke temporary on database ${cluster(name)} from public`
  const databaseUrl = urlFor(adminUrl, { database: name })
  const urls = forEachRole((role) => {
    const user = loginName(role)
    return urlFor(databaseUrl, { user, password: passwordOf(user) })
  })
  const admin = postgres(databaseUrl, { max: 4, onnotice: () => {} })
  return {
    name,
    admin,
    urls,
    appUrl: urls.app,
    workerUrl: urls.worker,
    operatorUrl: urls.operator,
    vaultUrl: urls.vault,
    drop: async () => {
      await admin.end({ timeout: 1 })
      await cluster`drop database ${cluster(name)} with (force)`
      await cluster.end()
    },
  }
}

/** Returns a connection as the Lambdas' role on which a transaction of another tenant has ended, like a reused one. */
export async function warmAppConnection(database: TestDatabase): Promise<postgres.Sql> {
  const sql = postgres(database.appUrl, { max: 1, onnotice: () => {} })
  await sql.begin(async (tx) => {
    await tx`select set_config('app.scope', ${randomUUID()}, true), set_config('app.scope_seal', 'ab', true)`
  })
  return sql
}
