import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { rounds, variants } from '#tests/support/rounds.ts'
import type { TimedAnswer } from '#tests/support/server-process.ts'
import { expectUnavailable, startOnOwnCluster } from './own-cluster.ts'

let own: Awaited<ReturnType<typeof startOnOwnCluster>>
let token: string
beforeAll(async () => {
  own = await startOnOwnCluster()
  token = await own.server.signIn('sales@acme.test')
})
afterAll(() => own.close())

describe('the patch of the driver', () => {
  it.for(['src', 'cjs/src'])('patches the installed driver in %s', async (folder) => {
    const entry = createRequire(import.meta.url).resolve('postgres')
    const home = join(dirname(entry), '..', '..')
    const text = await readFile(join(home, folder, 'connection.js'), 'utf8')
    const nextWrite = text.slice(text.indexOf('function nextWrite('), text.indexOf('function connectTimedOut('))
    expect(nextWrite).toMatch(/if \(socket === null\) \{[^}]*Errors\.connection\('CONNECTION_CLOSED'/)
  })
})

/** A write and the status of its response. The ledger shows whether writes were lost. */
interface LedgerEntry {
  readonly op: string
  readonly status: number
}

describe('a restart of Postgres under load', () => {
  const CLIENTS = 8

  /** Starts clients that write, read, log in and fail to, until `stop`. Checks every response. */
  function load(set: string, viewerToken: string) {
    const ledger: LedgerEntry[] = []
    const statuses = new Map<number, number>()
    let inARow = 0
    const stopped = new AbortController()
    const check = (answer: TimedAnswer, expected: number): TimedAnswer => {
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      if (answer.status === expected) inARow += 1
      else {
        expectUnavailable(answer)
        inARow = 0
      }
      return answer
    }
    const write = async (by: string, expected: number) => {
      const op = randomUUID()
      const { status } = check(
        await own.server.request('POST /v1/test/designs', { token: by, body: { op, set, hold_ms: 2 } }),
        expected,
      )
      ledger.push({ op, status })
    }
    const client = async (index: number) => {
      while (!stopped.signal.aborted) {
        await write(token, 201)
        if (index % 4 === 0) await write(viewerToken, 403)
        check(await own.server.request('GET /v1/auth/session', { token }), 200)
        if (index % 4 === 1) check(await own.server.logIn('viewer@acme.test'), 200)
        if (index % 4 === 2) check(await own.server.logIn('viewer@acme.test', 'wrong, and never right'), 401)
      }
    }
    const clients = Promise.all(Array.from({ length: CLIENTS }, (_, index) => client(index)))
    // `stop` awaits the clients and reports their failure.
    clients.catch(() => {})
    return {
      ledger,
      statuses,
      /** Resolves after so many expected responses without one failure between them. */
      succeeds: async (times: number) => {
        inARow = 0
        await vi.waitUntil(() => inARow >= times, { timeout: 15_000, interval: 20 })
      },
      stop: async () => {
        stopped.abort()
        await clients
      },
    }
  }

  it.for(variants(['immediate', 'fast'] as const))(
    'loses no acknowledged write and keeps no rejected one in a restart in mode %s, and recovers',
    { timeout: 60_000 },
    async (mode) => {
      const set = randomUUID()
      const viewerToken = await own.server.signIn('viewer@acme.test')
      const running = load(set, viewerToken)
      for (const _ of rounds(4, () => running.statuses.has(503))) {
        await delay(400 + Math.random() * 200)
        await own.cluster.stop(mode)
        await delay(Math.random() * 200)
        await own.cluster.start()
        await running.succeeds(100)
        expect(own.server.death()).toBeNull()
      }
      await running.stop()
      expect(own.server.death()).toBeNull()

      const rows = await own.look(
        (sql) => sql<{ op: string; count: number }[]>`
        select split_part(name, ' ', 1) as op, count(*)::int from app.designs where name like ${`% ${set}`} group by name`,
      )
      const counts = new Map(rows.map(({ op, count }) => [op, count]))
      const countsOf = (of: (status: number) => boolean) =>
        new Set(running.ledger.filter(({ status }) => of(status)).map(({ op }) => counts.get(op) ?? 0))
      expect(countsOf((status) => status === 201)).toEqual(new Set([1]))
      expect(countsOf((status) => status < 500 && status !== 201)).toEqual(new Set([0]))
      for (const count of countsOf((status) => status >= 500)) expect(count).toBeLessThanOrEqual(1)
      // The restarts interrupted requests.
      expect(running.statuses.get(503)).toBeGreaterThan(0)
    },
  )
})
