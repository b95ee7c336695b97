import { randomUUID } from 'node:crypto'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startCache } from '#infra/local/cache/cache.ts'
import { loginOf, prepareDatabase } from '#infra/local/postgres/database.ts'
import { createFaults, type Faults } from '#infra/local/faults.ts'
import { type Postgres, startPostgres } from '#infra/local/postgres/postgres.ts'
import { startPostgresWire } from '#infra/local/postgres/postgres-wire.ts'
import { seed } from '#infra/local/seed.ts'
import { type ServerProcess, startServerProcess, type TimedAnswer } from '#tests/support/server-process.ts'
import { PASSWORD, PEPPER } from '#tests/support/service.ts'

// What a client waits for at most when the database is away, and how soon all is well once it is back.
const ANSWER_MS = 3000
const RECOVERY_MS = 2000

const cleanups: (() => Promise<unknown>)[] = []
let cluster: Postgres
let databaseUrl: string
let faults: Faults
/** On the database itself. */
let server: ServerProcess
/** Behind a proxy that can make the database hang. */
let proxied: ServerProcess
let token: string
let proxiedToken: string

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-test-'))
  cleanups.push(() => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755)
  // A cluster of its own, since this file stops it; one that waits for the disk, since it is also crashed.
  cluster = await startPostgres({ dataDir: join(folder, 'data'), durable: true })
  cleanups.push(() => cluster.stop('immediate'))
  const prepared = await prepareDatabase(cluster.adminUrl, { name: 'service', rolePassword: 'role-password' })
  databaseUrl = prepared.databaseUrl
  await look((sql) => seed(sql, { memoryKib: 64, iterations: 1 }))
  faults = createFaults()
  const wire = await startPostgresWire({ host: '127.0.0.1', port: cluster.port, faults })
  cleanups.push(() => wire.close())
  const cache = await startCache({ force: 'in-process' })
  cleanups.push(() => cache.close())
  const access = {
    login: loginOf(prepared.appUrl),
    serviceSecret: { pepper: PEPPER, mailKey: PEPPER },
    cache: { url: cache.url, token: cache.token },
  }
  server = await startServerProcess(access)
  cleanups.push(() => server.stop())
  proxied = await startServerProcess({ ...access, login: { ...access.login, port: wire.port } })
  cleanups.push(() => proxied.stop())
  token = await server.signIn('sales@acme.test')
  proxiedToken = await proxied.signIn('sales@bolt.test')
})
afterAll(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup()
})

async function look<T>(work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} })
  try {
    return await work(sql)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

function expectUnavailable({ status, headers, body }: TimedAnswer): void {
  expect(status).toBe(503)
  expect(headers.get('content-type')).toBe('application/problem+json')
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  expect(body).toMatchObject({ status: 503, type: expect.stringMatching(/\/dependency-unavailable$/) })
}

describe('the guard of the driver', () => {
  it.for(['src', 'cjs/src'])('is in the installed %s', async (folder) => {
    const entry = createRequire(import.meta.url).resolve('postgres')
    const home = join(dirname(entry), '..', '..')
    const text = await readFile(join(home, folder, 'connection.js'), 'utf8')
    const nextWrite = text.slice(text.indexOf('function nextWrite('), text.indexOf('function connectTimedOut('))
    expect(nextWrite).toMatch(/if \(socket === null\) \{[^}]*Errors\.connection\('CONNECTION_CLOSED'/)
  })
})

/** What a client did, and what it was told: the only way to say that nothing was lost. */
interface LedgerEntry {
  readonly op: string
  readonly status: number
}

describe('a restart of Postgres under load', () => {
  const CLIENTS = 8

  /** Clients that write, read, sign in and are refused, until `stop`; every answer is checked as it comes. */
  function load(brand: string, viewerToken: string) {
    const ledger: LedgerEntry[] = []
    const statuses = new Map<number, number>()
    let lastFailure = 0
    const stopped = new AbortController()
    const check = (answer: TimedAnswer, expected: number): TimedAnswer => {
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      if (answer.status !== expected) {
        expectUnavailable(answer)
        lastFailure = performance.now()
      }
      expect(answer.afterMs).toBeLessThan(ANSWER_MS + 500)
      return answer
    }
    const write = async (by: string, expected: number) => {
      const op = randomUUID()
      const { status } = check(
        await server.request('POST /v1/test/styles', { token: by, body: { op, brand, hold_ms: 2 } }),
        expected,
      )
      ledger.push({ op, status })
    }
    const client = async (index: number) => {
      while (!stopped.signal.aborted) {
        await write(token, 201)
        if (index % 4 === 0) await write(viewerToken, 403)
        check(await server.request('GET /v1/auth/session', { token }), 200)
        if (index % 4 === 1) check(await server.logIn('viewer@acme.test'), 200)
        if (index % 4 === 2) check(await server.logIn('viewer@acme.test', 'wrong, and never right'), 401)
      }
    }
    const clients = Promise.all(Array.from({ length: CLIENTS }, (_, index) => client(index)))
    // Awaited at the end; a failure until then is no unhandled one.
    clients.catch(() => {})
    return {
      ledger,
      statuses,
      lastFailure: () => lastFailure,
      stop: async () => {
        stopped.abort()
        await clients
      },
    }
  }

  it.for(['fast', 'immediate'] as const)(
    'that is %s loses no acknowledged write, keeps no refused one, and kills nobody',
    { timeout: 60_000 },
    async (mode) => {
      const brand = randomUUID()
      const viewerToken = await server.signIn('viewer@acme.test')
      const running = load(brand, viewerToken)
      for (let round = 0; round < 4; round += 1) {
        await delay(400 + Math.random() * 200)
        await cluster.stop(mode)
        await delay(Math.random() * 200)
        await cluster.start()
        const back = performance.now()
        await delay(RECOVERY_MS / 2)
        expect(server.death()).toBeNull()
        expect(running.lastFailure() - back).toBeLessThan(RECOVERY_MS)
      }
      await delay(RECOVERY_MS / 2)
      const settled = performance.now()
      await delay(200)
      await running.stop()
      expect(running.lastFailure()).toBeLessThan(settled)
      expect(server.death()).toBeNull()

      const rows = await look(
        (sql) => sql<{ op: string; count: number }[]>`
        select name as op, count(*)::int from app.styles where brand = ${brand} group by name`,
      )
      const counts = new Map(rows.map(({ op, count }) => [op, count]))
      const countsOf = (of: (status: number) => boolean) =>
        new Set(running.ledger.filter(({ status }) => of(status)).map(({ op }) => counts.get(op) ?? 0))
      expect(countsOf((status) => status === 201)).toEqual(new Set([1]))
      expect(countsOf((status) => status < 500 && status !== 201)).toEqual(new Set([0]))
      for (const count of countsOf((status) => status >= 500)) expect(count).toBeLessThanOrEqual(1)
      // The restarts did hit requests.
      expect(running.statuses.get(503)).toBeGreaterThan(0)
    },
  )
})

const authRoutes = (of: ServerProcess, by: string) => [
  () => of.request('GET /v1/auth/session', { token: by }),
  () => of.request('GET /v1/auth/tenants', { token: by }),
  () => of.request('DELETE /v1/auth/session', { token: by }),
  () => of.logIn('viewer@acme.test', PASSWORD),
  () => of.request('GET /v1/catalog/styles', { token: by }),
  () => of.request('POST /v1/test/styles', { token: by, body: { op: randomUUID(), brand: randomUUID() } }),
]

async function expectDown(of: ServerProcess, by: string): Promise<void> {
  const answers = await Promise.all(authRoutes(of, by).map((ask) => ask()))
  for (const answer of answers) {
    expectUnavailable(answer)
    expect(answer.afterMs).toBeLessThan(ANSWER_MS)
  }
  const [live, ready] = await Promise.all([of.request('GET /health/live'), of.request('GET /health/ready')])
  expect([live.status, live.body]).toEqual([200, { status: 'ok' }])
  expectUnavailable(ready)
  expect(ready.body).toMatchObject({ database: 'failed', cache: 'ok' })
  expect(ready.afterMs).toBeLessThan(1500)
}

async function expectBack(of: ServerProcess, by: string): Promise<void> {
  const since = performance.now()
  for (;;) {
    const [session, ready] = await Promise.all([
      of.request('GET /v1/auth/session', { token: by }),
      of.request('GET /health/ready'),
    ])
    if (session.status === 200 && ready.status === 200) break
    expectUnavailable(session.status === 200 ? ready : session)
    expect(performance.now() - since).toBeLessThan(RECOVERY_MS)
    await delay(20)
  }
  expect((await of.logIn('viewer@acme.test')).status).toBe(200)
  expect(of.death()).toBeNull()
}

describe('Postgres away', () => {
  it('stopped: what needs it is a 503 within 3 s, life goes on, and all is well by itself when it is back', async () => {
    await cluster.stop('fast')
    try {
      await expectDown(server, token)
    } finally {
      await cluster.start()
    }
    await expectBack(server, token)
  })

  it('hanging: the same, in the same time', async () => {
    await expectBack(proxied, proxiedToken)
    await faults.set({ part: 'postgres', mode: 'hang' })
    try {
      await expectDown(proxied, proxiedToken)
    } finally {
      await faults.set({ part: 'postgres', mode: 'ok' })
    }
    await expectBack(proxied, proxiedToken)
  })

  it('refusing connections: the same', async () => {
    await faults.set({ part: 'postgres', mode: 'refuse' })
    try {
      await expectDown(proxied, proxiedToken)
    } finally {
      await faults.set({ part: 'postgres', mode: 'ok' })
    }
    await expectBack(proxied, proxiedToken)
  })
})
