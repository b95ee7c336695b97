import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { expect } from 'vitest'
import { startCache } from '#infra/local/cache/cache.ts'
import { createFaults } from '#infra/local/faults.ts'
import { prepareDatabase } from '#infra/local/postgres/database.ts'
import { startPostgres } from '#infra/local/postgres/postgres.ts'
import { startPostgresWire } from '#infra/local/postgres/postgres-wire.ts'
import { seed } from '#infra/local/seed.ts'
import { loginsOf } from '#tests/support/access.ts'
import { startServerProcess, type TimedAnswer } from '#tests/support/server-process.ts'
import { PEPPER } from '#tests/support/service.ts'

/**
 * Starts the service in processes of its own on a Postgres of its own, which a test may stop. `server` connects to
 * Postgres directly, `proxied` through a proxy that follows `faults`.
 */
export async function startOnOwnCluster() {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-test-'))
  await chmod(folder, 0o755)
  // Durable, because tests also crash it.
  const cluster = await startPostgres({ dataDir: join(folder, 'data'), durable: true })
  const { databaseUrl, urls } = await prepareDatabase(cluster.adminUrl, {
    name: 'service',
    rolePassword: 'role-password',
  })
  /** Runs queries as the superuser on a connection of their own. */
  const look = async <T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T> => {
    const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
    try {
      return await work(sql)
    } finally {
      await sql.end({ timeout: 1 })
    }
  }
  await look((sql) => seed(sql, { memoryKib: 64, iterations: 1 }))
  const faults = createFaults()
  const wire = await startPostgresWire({ host: '127.0.0.1', port: cluster.port, faults })
  const cache = await startCache({ force: 'in-process' })
  const access = {
    logins: loginsOf(urls),
    tokenSecrets: { pepper: PEPPER, mailKey: PEPPER },
    cache: { url: cache.url, token: cache.token },
  }
  const server = await startServerProcess(access)
  const proxied = await startServerProcess({ ...access, logins: loginsOf(urls, wire.port) })
  const close = async () => {
    await Promise.all([server.stop(), proxied.stop()])
    await cache.close()
    await wire.close()
    await cluster.stop('immediate')
    await rm(folder, { recursive: true, force: true })
  }
  return { cluster, faults, server, proxied, look, close }
}

export function expectUnavailable({ status, headers, body }: TimedAnswer): void {
  expect(status).toBe(503)
  expect(headers.get('content-type')).toBe('application/problem+json')
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  expect(body).toMatchObject({ status: 503, type: expect.stringMatching(/\/dependency-unavailable$/) })
}
