import { randomUUID } from 'node:crypto'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { urlFor } from '#infra/local/postgres/database.ts'
import { startPostgresWire } from '#infra/local/postgres/postgres-wire.ts'
import type { Database } from '#shared/db/connect.ts'
import { isUnavailable } from '#shared/db/failure.ts'
import { authenticate } from '#shared/identity/session-queries.ts'
import { connectTo } from '#tests/support/access.ts'
import { createTestDatabase } from '#tests/support/database.ts'
import { EVERY_USE, expectUnavailable, pidOf, rejection, useConnections } from './connections.ts'

const { database, cleanups, opened, cuttable, marked, gone, terminate, liveSession } = useConnections()

describe('a lost connection', () => {
  it.for([
    ['before its last statement', [randomUUID()]],
    ['after its last statement', []],
  ] as const)(
    'rejects a transaction as unavailable and rolls it back when its connection is lost %s',
    async ([_when, later]) => {
      const db = opened(database.appUrl)
      const first = randomUUID()
      await expectUnavailable(
        db.write(async (sql) => {
          await sql`insert into app.planted_marks (mark) values (${first})`
          await terminate(await pidOf(sql))
          for (const mark of later) await sql`insert into app.planted_marks (mark) values (${mark})`
        }),
      )
      expect(await db.sql`select 1 as n`).toEqual([{ n: 1 }])
      expect(await Promise.all([first, ...later].map(marked))).not.toContain(true)
    },
  )

  it('runs no later statement of a transaction whose connection was lost', async () => {
    const db = opened(database.appUrl)
    const strays = Array.from({ length: 30 }, () => randomUUID())
    await expectUnavailable(
      db.write(async (sql) => {
        await terminate(await pidOf(sql))
        for (const mark of strays) {
          await sql`insert into app.planted_marks (mark) values (${mark})`.catch(() => {})
          await delay(10)
        }
      }),
    )
    expect(await db.sql`select 1 as n`).toEqual([{ n: 1 }])
    expect(await Promise.all(strays.map(marked))).not.toContain(true)
  })

  it('runs no statement of abandoned work in the next transaction', async () => {
    const db = opened(database.appUrl)
    const [kept, ...strays] = Array.from({ length: 30 }, () => randomUUID())
    if (kept === undefined) throw new Error('no mark')
    let zombie: Promise<void> | undefined
    await expectUnavailable(
      db.write(async (sql) => {
        await terminate(await pidOf(sql))
        zombie = (async () => {
          for (const mark of strays) {
            await delay(3)
            await sql`insert into app.planted_marks (mark) values (${mark})`.catch(() => {})
          }
        })()
        await sql`select 1`
      }),
    )
    await db.write(async (sql) => {
      await sql`insert into app.planted_marks (mark) values (${kept})`
      await zombie
    })
    expect(await marked(kept)).toBe(true)
    expect(await Promise.all(strays.map(marked))).not.toContain(true)
  })

  it('replaces a connection that was lost while idle', async () => {
    const db = opened(database.appUrl)
    await terminate(await pidOf(db.sql))
    expect(await db.sql`select 1 as n`).toEqual([{ n: 1 }])
    await terminate(await pidOf(db.sql))
    const mark = randomUUID()
    await db.write((sql) => sql`insert into app.planted_marks (mark) values (${mark})`)
    expect(await marked(mark)).toBe(true)
  })

  it('rejects a transaction whose BEGIN could not connect, even when its next statement could', async () => {
    const { hostname, port } = new URL(database.appUrl)
    const reserved = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => reserved.once('listening', resolve))
    const listenPort = (reserved.address() as AddressInfo).port
    await new Promise((resolve) => reserved.close(resolve))
    const db = opened(urlFor(database.appUrl, { hostname: '127.0.0.1', port: listenPort }))
    const mark = randomUUID()
    const work = rejection(db.write((sql) => sql`insert into app.planted_marks (mark) values (${mark})`))
    // The server returns right after BEGIN failed.
    await delay(20)
    const wire = await startPostgresWire({ host: hostname, port: Number(port), listenPort })
    cleanups.push(() => wire.close())
    expect(isUnavailable(await work)).toBe(true)
    expect(await marked(mark)).toBe(false)
    expect(await db.sql`select 1 as n`).toEqual([{ n: 1 }])
  })

  it('keeps the number of connections when connections are lost under load', async () => {
    const own = await createTestDatabase()
    cleanups.push(() => own.drop())
    const db = connectTo(own.appUrl, { connections: 3, prepare: true })
    const count = async (): Promise<number> => {
      const [row] = await own.admin<{ count: number }[]>`
        select count(*)::int from pg_stat_activity where usename = 'identity_app' and datname = ${own.name}`
      return row?.count ?? -1
    }
    const busy = () => Promise.all(Array.from({ length: 3 }, () => db.sql`select pg_sleep(0.02)`))
    await busy()
    expect(await count()).toBe(3)
    for (let round = 0; round < 12; round += 1) {
      const lost = db.write(async (sql) => {
        const pid = await pidOf(sql)
        await own.admin`select pg_terminate_backend(${pid})`
        await sql`select pg_sleep(0.01)`
      })
      // Its commit is queued while it is prepared.
      const prepared = db.call.committing`select pg_terminate_backend(pg_backend_pid(), ${round}::int)`
      const others = [db.sql`select 1 / ${0}::int`, db.read((sql) => sql`select 1`), prepared.committed]
      const [error] = await Promise.all([rejection(lost), Promise.allSettled(others)])
      expect(isUnavailable(error), String(error)).toBe(true)
      // The loss itself rejects the work, not the timeout.
      expect(String(error)).not.toContain('in time')
    }
    await busy()
    expect(await count()).toBe(3)
    await db.close()
    while ((await count()) > 0) await delay(5)
  })
})

/** Stops the backend process of a connection until the pool discards it. `wake` resumes the process and waits for its end. */
async function givenUp(db: Database): Promise<{ wake: () => Promise<void> }> {
  const pid = await pidOf(db.sql)
  process.kill(pid, 'SIGSTOP')
  let stopped = true
  const wake = async () => {
    if (stopped) process.kill(pid, 'SIGCONT')
    stopped = false
    await gone(pid)
    await delay(20)
  }
  cleanups.push(wake)
  await expectUnavailable(db.sql`select 1`)
  return { wake }
}

describe.concurrent('a discarded connection that closes late', () => {
  it('keeps the transaction on the new connection when the discarded one closes', async ({ expect }) => {
    const db = opened(database.appUrl)
    const { wake } = await givenUp(db)
    const mark = randomUUID()
    await db.write(async (sql) => {
      await sql`select 1`
      await wake()
      await sql`insert into app.planted_marks (mark) values (${mark})`
    })
    expect(await marked(mark)).toBe(true)
  })

  it('leaves no transaction open for the next request when the discarded connection closes', async ({ expect }) => {
    const db = opened(database.appUrl)
    const { wake } = await givenUp(db)
    const [dropped, kept] = [randomUUID(), randomUUID()]
    const failed = db.write(async (sql) => {
      await sql`insert into app.planted_marks (mark) values (${dropped})`
      await wake()
      throw new Error('the work failed')
    })
    await expect(failed).rejects.toThrow('the work failed')
    await db.write((sql) => sql`insert into app.planted_marks (mark) values (${kept})`)
    expect([await marked(dropped), await marked(kept)]).toEqual([false, true])
  })
})

describe('a connection that was idle for a minute', () => {
  /** Opens a database and lets a minute pass. */
  async function idle() {
    const wire = await cuttable()
    const { key, tenant } = await liveSession()
    const check = () => authenticate(wire.db.call.repeatable, [key, null], EVERY_USE)
    await check()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 })
    onTestFinished(() => void vi.useRealTimers())
    return { ...wire, check, tenant, mark: randomUUID() }
  }

  it('checks a session once more on a new connection, when the network forgot it or it closes before it responds', async () => {
    const forgotten = await idle()
    forgotten.silence()
    expect((await forgotten.check())?.tenant?.id).toBe(forgotten.tenant)
    vi.useRealTimers()
    const closed = await idle()
    closed.cutAt(0)
    expect((await closed.check())?.tenant?.id).toBe(closed.tenant)
    closed.cutAt(0)
    await expectUnavailable(closed.check())
  })

  it('is replaced before a statement or a transaction runs on it, when the network forgot it', async () => {
    for (const write of [
      (db: Database, mark: string) => db.sql`insert into app.planted_marks (mark) values (${mark})`,
      (db: Database, mark: string) => db.call`insert into app.planted_marks (mark) values (${mark})`,
      (db: Database, mark: string) => db.write((sql) => sql`insert into app.planted_marks (mark) values (${mark})`),
      (db: Database, mark: string) =>
        db.call.committing`insert into app.planted_marks (mark) values (${mark})`.committed,
    ]) {
      const { db, silence, mark } = await idle()
      silence()
      await write(db, mark)
      expect(await marked(mark)).toBe(true)
      vi.useRealTimers()
    }
  })

  it('runs no write again that it was lost in', async () => {
    for (const write of [
      (db: Database, mark: string) => db.sql`insert into app.planted_marks (mark) values (${mark})`,
      (db: Database, mark: string) => db.call`insert into app.planted_marks (mark) values (${mark})`,
      (db: Database, mark: string) =>
        db.call.committing`insert into app.planted_marks (mark) values (${mark})`.committed,
    ]) {
      const { db, cutAt, mark } = await idle()
      // The first response is to the question whether the connection is there.
      cutAt(0, 1)
      await expectUnavailable(write(db, mark))
      expect(await db.sql`select 1 as n`).toEqual([{ n: 1 }])
      vi.useRealTimers()
    }
  })
})

describe('a connection that is cut within a response', () => {
  it.for([3, 200, 1000, 5000])(
    'rejects a statement whose response is cut after %i bytes, and returns later results unchanged',
    async (bytes) => {
      const { db, cutAt } = await cuttable()
      const many = () => db.sql`select n, repeat('x', 50) as text from generate_series(1, 500) as n`
      expect(await many()).toHaveLength(500)
      cutAt(bytes)
      await expectUnavailable(many())
      expect(await db.sql`select 1 as n`).toEqual([{ n: 1 }])
      expect(await many()).toHaveLength(500)
    },
  )

  it('never reports a live session as ended when a response is cut', async () => {
    const { db, cutAt } = await cuttable()
    const { key, tenant } = await liveSession()
    const check = () => authenticate(db.call.repeatable, [key, null], EVERY_USE)
    expect((await check())?.tenant?.id).toBe(tenant)
    // A response ends with its row, CommandComplete (14 bytes) and ReadyForQuery (6 bytes).
    for (const bytes of [-1, -7, -15, -21, -40]) {
      cutAt(bytes)
      await expectUnavailable(check())
      expect((await check())?.tenant?.id).toBe(tenant)
    }
  })
})
