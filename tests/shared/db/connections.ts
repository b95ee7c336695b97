import { randomBytes } from 'node:crypto'
import { type AddressInfo, connect as connectTcp, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect } from 'vitest'
import { createFaults } from '#infra/local/faults.ts'
import { urlFor } from '#infra/local/postgres/database.ts'
import { startPostgresWire } from '#infra/local/postgres/postgres-wire.ts'
import type { Database } from '#shared/db/connect.ts'
import { isUnavailable } from '#shared/db/failure.ts'
import type { TenantProof } from '#shared/db/scope.ts'
import { authenticate } from '#shared/identity/session-queries.ts'
import { connectTo } from '#tests/support/access.ts'
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts'

export const EVERY_USE = { idleSeconds: 60, slideStepSeconds: 0 }

export const pidOf = async (sql: Database['sql']): Promise<number> => {
  const [row] = await sql<{ pid: number }>`select pg_backend_pid() as pid`
  if (row === undefined) throw new Error('no row')
  return row.pid
}

export const pidIn = (sql: Database['sql']) => sql`select pg_backend_pid()`

export const rejection = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  )

export async function expectUnavailable(work: Promise<unknown>): Promise<void> {
  const error = await rejection(work)
  expect(isUnavailable(error), String(error)).toBe(true)
}

interface Options {
  readonly connections?: number
  readonly prepare?: boolean
}

/**
 * Creates a database for the tests of a file, and drops it after the last. Returns what opens connections to it and looks at
 * them. Its members work from the first test or `beforeAll` on.
 */
export function useConnections() {
  const database: TestDatabase = Object.create(null)
  beforeAll(async () => {
    Object.setPrototypeOf(database, await createTestDatabase())
    // A table without a tenant, so that a stray statement leaves a row.
    await database.admin`create table app.planted_marks (mark uuid primary key)`
    await database.admin`grant select, insert on app.planted_marks to identity_app`
  })
  // Some tests run concurrently, where onTestFinished does not work.
  const cleanups: (() => unknown)[] = []
  afterAll(async () => {
    for (const cleanup of cleanups.toReversed()) await cleanup()
    await database.drop()
  })

  function opened(url: string, { connections = 1, prepare = true }: Options = {}): Database {
    const db = connectTo(url, { connections, prepare })
    cleanups.push(() => db.close())
    return db
  }

  /** Opens a database behind a proxy that counts round trips and injects faults. */
  async function behindWire(options: Options = {}) {
    const { hostname, port } = new URL(database.appUrl)
    const faults = createFaults()
    const wire = await startPostgresWire({ host: hostname, port: Number(port), faults })
    cleanups.push(() => wire.close())
    const db = opened(urlFor(database.appUrl, { hostname: '127.0.0.1', port: wire.port }), options)
    const roundTrips = async (work: () => Promise<unknown>): Promise<number> => {
      const before = wire.counts().roundTrips
      await work()
      return wire.counts().roundTrips - before
    }
    return { db, faults, roundTrips }
  }

  /**
   * Opens a database behind a proxy. `cutAt` passes so many bytes of the next response (all but so many, if negative), then cuts
   * the connection; `after` counts the responses before it. `silence` lets no more responses through on the present connections.
   */
  async function cuttable() {
    const { hostname, port } = new URL(database.appUrl)
    let cut: { bytes: number; after: number } | null = null
    const present = new Set<{ silent: boolean }>()
    const server = createServer((client) => {
      const upstream = connectTcp(Number(port), hostname)
      const state = { silent: false }
      present.add(state)
      upstream.on('error', () => {})
      client.on('error', () => {})
      client.pipe(upstream)
      upstream.on('data', (chunk: Buffer) => {
        if (state.silent) return
        if (cut === null || cut.after > 0) {
          if (cut !== null) cut.after -= 1
          client.write(chunk)
          return
        }
        client.write(chunk.subarray(0, cut.bytes))
        cut = null
        client.end()
        upstream.destroy()
      })
      client.on('close', () => upstream.destroy())
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    cleanups.push(() => server.close())
    const db = opened(urlFor(database.appUrl, { hostname: '127.0.0.1', port: (server.address() as AddressInfo).port }))
    const cutAt = (bytes: number, after = 0) => {
      cut = { bytes, after }
    }
    const silence = () => {
      for (const state of present) state.silent = true
    }
    return { db, cutAt, silence }
  }

  async function marked(mark: string): Promise<boolean> {
    return (await database.admin`select from app.planted_marks where mark = ${mark}`).length > 0
  }

  const gone = async (pid: number): Promise<void> => {
    while ((await database.admin`select from pg_stat_activity where pid = ${pid}`).length > 0) await delay(2)
  }

  async function terminate(pid: number): Promise<void> {
    await database.admin`select pg_terminate_backend(${pid})`
    await gone(pid)
    // Waits until this process has noticed.
    await delay(20)
  }

  /** Starts a session of a member in a tenant. */
  async function liveSession(): Promise<{ tenant: string; key: Buffer }> {
    const key = randomBytes(32)
    const [row] = await database.admin<{ tenant: string }[]>`
      insert into app.sessions (token_key, user_id, tenant_id, csrf_secret, idle_expires_at, absolute_expires_at)
      select ${key}, u.id, t.id, ${key}, now() + interval '1 hour', now() + interval '1 day'
        from app.users u, app.tenants t where u.email = 'sales@acme.test' and t.slug = 'acme-print'
      returning tenant_id as tenant`
    if (row === undefined) throw new Error('no session')
    return { tenant: row.tenant, key }
  }

  /** Returns the proof of a member who may write deals. */
  async function memberProof(): Promise<TenantProof> {
    const { key } = await liveSession()
    const principal = await authenticate(opened(database.appUrl).sql, [key, null], EVERY_USE)
    if (principal === null) throw new Error('no live session')
    return principal.ticket.proof({ permission: 'deal.write', exclusive: false, stepUpSeconds: null })
  }

  return { database, cleanups, opened, behindWire, cuttable, marked, gone, terminate, liveSession, memberProof }
}
