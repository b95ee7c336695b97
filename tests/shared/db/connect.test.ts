import { randomBytes, randomUUID } from 'node:crypto'
import { createServer, type AddressInfo, connect as connectTcp } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { urlFor } from '#infra/local/postgres/database.ts'
import { createFaults } from '#infra/local/faults.ts'
import { startPostgresWire } from '#infra/local/postgres/postgres-wire.ts'
import type { Database, Sql } from '#shared/db/connect.ts'
import { isUnavailable } from '#shared/db/failure.ts'
import { log } from '#shared/log.ts'
import type { TenantProof } from '#shared/db/scope.ts'
import { authenticate } from '#shared/session/queries.ts'
import { Ticket } from '#shared/session/ticket.ts'
import { connectTo } from '#tests/support/access.ts'
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts'

const EVERY_USE = { idleSeconds: 60, slideStepSeconds: 0 }

let database: TestDatabase
let acme: string

beforeAll(async () => {
  database = await createTestDatabase()
  const { admin } = database
  const [tenant] = await admin`select id from app.tenants where slug = 'acme-print'`
  acme = tenant?.['id']
  // A table without a tenant, so that a stray statement leaves a row.
  await admin`create table app.planted_marks (mark uuid primary key)`
  await admin`grant select, insert on app.planted_marks to identity_app`
})
// Some tests run concurrently, where onTestFinished does not work.
const cleanups: (() => unknown)[] = []
afterAll(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup()
  await database.drop()
})

type Options = { connections?: number; prepare?: boolean }

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

async function marked(mark: string): Promise<boolean> {
  return (await database.admin`select from app.planted_marks where mark = ${mark}`).length > 0
}

const pidOf = async (sql: Database['sql']): Promise<number> => {
  const [row] = await sql<{ pid: number }>`select pg_backend_pid() as pid`
  if (row === undefined) throw new Error('no row')
  return row.pid
}

const pidIn = (sql: Database['sql']) => sql`select pg_backend_pid()`

const gone = async (pid: number): Promise<void> => {
  while ((await database.admin`select from pg_stat_activity where pid = ${pid}`).length > 0) await delay(2)
}

async function terminate(pid: number): Promise<void> {
  await database.admin`select pg_terminate_backend(${pid})`
  await gone(pid)
  // Waits until this process has noticed.
  await delay(20)
}

const rejection = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  )

async function expectUnavailable(work: Promise<unknown>): Promise<void> {
  const error = await rejection(work)
  expect(isUnavailable(error), String(error)).toBe(true)
}

async function liveSession(): Promise<{ id: string; key: Buffer }> {
  const key = randomBytes(32)
  const [row] = await database.admin<{ id: string }[]>`
    insert into app.sessions (token_key, user_id, tenant_id, csrf_secret, idle_expires_at, absolute_expires_at)
    select ${key}, u.id, ${acme}, ${key}, now() + interval '1 hour', now() + interval '1 day'
      from app.users u where u.email = 'sales@acme.test'
    returning id`
  if (row === undefined) throw new Error('no session')
  return { id: row.id, key }
}

/** Returns the proof of a member who may write deals. */
async function memberProof(): Promise<TenantProof> {
  const { key } = await liveSession()
  const principal = await authenticate(opened(database.appUrl).sql, [key, null], EVERY_USE)
  if (principal === null) throw new Error('no live session')
  return principal.ticket.proof({ permission: 'deal.write', exclusive: false })
}

describe('round trips with prepared statements', () => {
  it('reads in a tenant in two round trips: the statements, and the commit, for which the next use waits', async () => {
    const { db, roundTrips } = await behindWire()
    const proof = await memberProof()
    const read = () => proof.read(db, (sql) => sql`select id from app.memberships where role_id = ${1}`)
    await read()
    await read()
    await db.uncleaned`select 1`
    const both = async () => {
      await read()
      await db.uncleaned`select 1`
    }
    expect(await roundTrips(both)).toBe(3)
  })

  it('checks a session in one round trip, also while two peppers are active', async () => {
    const { db, roundTrips } = await behindWire()
    const { key } = await liveSession()
    const other = randomBytes(32)
    for (const keys of [[key, null] as const, [key, other] as const, [other, key] as const]) {
      const check = () => authenticate(db.uncleaned, keys, EVERY_USE)
      expect((await check())?.tenant?.id).toBe(acme)
      expect(await roundTrips(check)).toBe(1)
    }
    const nobody = () => authenticate(db.uncleaned, [other, randomBytes(32)], EVERY_USE)
    expect(await nobody()).toBeNull()
    expect(await roundTrips(nobody)).toBe(1)
  })

  it('writes in a tenant in two round trips: the entry with the statement, and the commit', async () => {
    const { db, roundTrips } = await behindWire()
    const proof = await memberProof()
    const write = () => proof.write(db, (sql) => sql`insert into app.planted_marks (mark) values (${randomUUID()})`)
    await write()
    expect(await roundTrips(write)).toBe(2)
  })

  it('works without prepared statements when they are switched off', async () => {
    const { db } = await behindWire({ prepare: false })
    const proof = await memberProof()
    const read = () => proof.read(db, (sql) => sql`select id from app.memberships where role_id = ${1}`)
    expect(await read()).toHaveLength(1)
    expect(await read()).toHaveLength(1)
    expect(await db.sql`select name from pg_prepared_statements`).toEqual([])
  })
})

describe('transaction', () => {
  it('commits a transaction as a whole or not at all', async () => {
    const db = opened(database.appUrl)
    const [kept, dropped] = [randomUUID(), randomUUID()]
    await db.transaction('read write', (sql) => sql`insert into app.planted_marks (mark) values (${kept})`)
    const failed = db.transaction('read write', async (sql) => {
      await sql`insert into app.planted_marks (mark) values (${dropped})`
      throw new Error('the work failed')
    })
    await expect(failed).rejects.toThrow('the work failed')
    expect([await marked(kept), await marked(dropped)]).toEqual([true, false])
  })

  it('rejects writes in a read only transaction', async () => {
    const db = opened(database.appUrl)
    const mark = randomUUID()
    const refused = db.transaction('read only', (sql) => sql`insert into app.planted_marks (mark) values (${mark})`)
    await expect(refused).rejects.toMatchObject({ code: '25006' })
    expect(await marked(mark)).toBe(false)
  })

  it('rejects statements after the end of their transaction', async () => {
    const db = opened(database.appUrl)
    const [first, second] = [randomUUID(), randomUUID()]
    let kept = db.sql
    await db.transaction('read write', async (sql) => {
      kept = sql
    })
    await expect(kept`insert into app.planted_marks (mark) values (${first})`).rejects.toThrow('after the end')
    const failed = db.transaction('read write', async (sql) => {
      kept = sql
      throw new Error('the work failed')
    })
    await expect(failed).rejects.toThrow('the work failed')
    await expect(kept`insert into app.planted_marks (mark) values (${second})`).rejects.toThrow('after the end')
    expect([await marked(first), await marked(second)]).toEqual([false, false])
  })

  it('rejects a failed transaction even when its work ignored the error', async () => {
    const db = opened(database.appUrl)
    const mark = randomUUID()
    const swallowed = db.transaction('read write', async (sql) => {
      await sql`insert into app.planted_marks (mark) values (${mark})`
      await sql`select 1 / ${0}::int`.catch(() => {})
    })
    await expect(swallowed).rejects.toThrow()
    expect(await marked(mark)).toBe(false)
    const unawaited = db.transaction('read write', async (sql) => {
      await sql`insert into app.planted_marks (mark) values (${mark})`
      sql`select 1 / ${0}::int`.catch(() => {})
    })
    await expect(unawaited).rejects.toThrow()
    expect(await marked(mark)).toBe(false)
    expect(await db.sql`select 1 as n`).toEqual([{ n: 1 }])
  })

  it('leaves no tenant set on the connection after a transaction', async () => {
    const db = opened(database.appUrl)
    const proof = await memberProof()
    const setting = () => db.sql<{ tenant: string | null; rows: number }>`
      select nullif(current_setting('app.scope', true), '') as tenant,
             (select count(*)::int from app.memberships) as rows`
    const pid = await pidOf(db.sql)
    const seen = await proof.read(db, (sql) => sql`select id from app.memberships`)
    expect(seen.length).toBeGreaterThan(0)
    expect(await setting()).toEqual([{ tenant: null, rows: 0 }])
    await expect(proof.read(db, (sql) => sql`select 1 / ${0}::int`)).rejects.toMatchObject({ code: '22012' })
    expect(await setting()).toEqual([{ tenant: null, rows: 0 }])
    await proof.write(db, (sql) => sql`select id from app.memberships`)
    expect(await setting()).toEqual([{ tenant: null, rows: 0 }])
    const failed = proof.write(db, () => Promise.reject(new Error('the work failed')))
    await expect(failed).rejects.toThrow('the work failed')
    expect(await setting()).toEqual([{ tenant: null, rows: 0 }])
    expect(await pidOf(db.sql)).toBe(pid)
  })
})

describe('a connection that is used again', () => {
  const PREPARED = 'prepare planted as select 1'
  const HELD = 'declare planted cursor with hold for select 1'
  const alone = (db: Database, text: string) => db.sql(Object.assign([text], { raw: [text] }))
  const inTransaction = (db: Database, ...texts: string[]) =>
    db.transaction('read write', async (sql) => {
      for (const text of texts) await sql(Object.assign([text], { raw: [text] }))
    })

  it.for<[what: string, plant: (db: Database) => Promise<unknown>]>([
    ['a prepared statement', (db) => alone(db, PREPARED)],
    ['a prepared statement of a transaction', (db) => inTransaction(db, PREPARED)],
    ['a prepared statement of a failed transaction', (db) => inTransaction(db, PREPARED, 'select 1 / 0')],
    ['a cursor', (db) => inTransaction(db, HELD)],
    ['a cursor in a transaction of its own', (db) => inTransaction(db, 'commit', 'begin', HELD)],
    ['an open transaction', (db) => alone(db, 'begin')],
  ])('closes the connection on which a statement left %s, before its next use', async ([_what, plant]) => {
    const db = opened(database.appUrl)
    const logged = vi.spyOn(log, 'error').mockImplementation(() => {})
    onTestFinished(() => logged.mockRestore())
    const pid = await pidOf(db.sql)
    await rejection(plant(db))
    await gone(pid)
    expect(logged).toHaveBeenCalledWith(expect.stringContaining('on its connection'), { role: 'identity_app' })
    expect(await pidOf(db.sql)).not.toBe(pid)
    expect(await db.sql`select name from pg_prepared_statements where from_sql`).toEqual([])
  })

  it('responds 503 for the request that left a statement on the connection, and runs none behind it', async () => {
    const { db } = await behindWire()
    const stray = randomUUID()
    const planted = alone(db, PREPARED)
    const next = rejection(db.sql`insert into app.planted_marks (mark) values (${stray})`)
    await expectUnavailable(planted)
    expect(isUnavailable(await next)).toBe(true)
    expect(await marked(stray)).toBe(false)
  })

  it.for([
    `select set_config('app.scope', gen_random_uuid()::text, false)`,
    'set search_path = public',
    'set row_security = off',
    'select pg_advisory_lock(7)',
  ])('has no setting and no lock of its former caller: %s', async (planted) => {
    const db = opened(database.appUrl)
    const state = () => db.sql`
      select pg_backend_pid(), current_setting('app.scope', true) <> '' as scoped, current_setting('search_path'),
             current_setting('row_security'), (select count(*)::int from pg_locks where locktype = 'advisory' and pid = pg_backend_pid())`
    await (await memberProof()).read(db, (sql) => sql`select 1`)
    const before = await state()
    await alone(db, planted)
    expect(await state()).toEqual(before)
    await inTransaction(db, planted)
    expect(await state()).toEqual(before)
  })
})

it('keeps its timeouts, and writes, when a role changed its own defaults', async () => {
  const { admin, name } = database
  const change = (words: string) => admin.unsafe(`alter role identity_app in database ${name} ${words}`)
  await change(`set statement_timeout = '20d'`)
  await change('set default_transaction_read_only = on')
  await change('set row_security = off')
  onTestFinished(async () => {
    await change('reset all')
  })
  const db = opened(database.appUrl)
  expect(
    await db.sql`select current_setting('statement_timeout') as timeout, current_setting('row_security') as guarded`,
  ).toEqual([{ timeout: '2s', guarded: 'on' }])
  await db.sql`insert into app.planted_marks (mark) values (${randomUUID()})`
})

describe('a forged scope', () => {
  it.for<[what: string, forge: (db: Database) => Promise<unknown>]>([
    [
      'a tenant',
      (db) =>
        db.transaction('read only', async (sql) => {
          await sql`select set_config('app.scope', ${acme}, true)`
          await sql`select id from app.memberships`
        }),
    ],
    [
      'a ticket',
      (db) => new Ticket(randomBytes(90)).proof({ permission: 'deal.write', exclusive: false }).read(db, pidIn),
    ],
  ])('fails its request, is logged, and closes the connection: %s', async ([_what, forge]) => {
    const db = opened(database.appUrl)
    const logged = vi.spyOn(log, 'error').mockImplementation(() => {})
    onTestFinished(() => logged.mockRestore())
    const pid = await pidOf(db.sql)
    await expect(forge(db)).rejects.toMatchObject({ code: 'TN500' })
    expect(logged).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('had not sealed'), { code: 'TN500' })
    await gone(pid)
    expect(await pidOf(db.sql)).not.toBe(pid)
  })
})

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
        db.transaction('read write', async (sql) => {
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
      db.transaction('read write', async (sql) => {
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
      db.transaction('read write', async (sql) => {
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
    await db.transaction('read write', async (sql) => {
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
    await db.transaction('read write', (sql) => sql`insert into app.planted_marks (mark) values (${mark})`)
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
    const work = rejection(
      db.transaction('read write', (sql) => sql`insert into app.planted_marks (mark) values (${mark})`),
    )
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
      const lost = db.transaction('read write', async (sql) => {
        const pid = await pidOf(sql)
        await own.admin`select pg_terminate_backend(${pid})`
        await sql`select pg_sleep(0.01)`
      })
      const others = [db.sql`select 1 / ${0}::int`, db.transaction('read only', (sql) => sql`select 1`)]
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
    await db.transaction('read write', async (sql) => {
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
    const failed = db.transaction('read write', async (sql) => {
      await sql`insert into app.planted_marks (mark) values (${dropped})`
      await wake()
      throw new Error('the work failed')
    })
    await expect(failed).rejects.toThrow('the work failed')
    await db.transaction('read write', (sql) => sql`insert into app.planted_marks (mark) values (${kept})`)
    expect([await marked(dropped), await marked(kept)]).toEqual([false, true])
  })
})

describe('single statements on a shared connection', () => {
  it('fails only the statement that is wrong', async () => {
    const db = opened(database.appUrl)
    for (let round = 0; round < 20; round += 1) {
      const statements = Array.from({ length: 30 }, async (_, n) => {
        const [row] = n % 3 === 0 ? await db.sql`select 1 / ${0}::int as n` : await db.sql`select ${n}::int as n`
        return row
      })
      const outcomes = await Promise.allSettled(statements)
      for (const [n, outcome] of outcomes.entries()) {
        if (n % 3 === 0) expect(outcome).toMatchObject({ status: 'rejected', reason: { code: '22012' } })
        else expect(outcome).toEqual({ status: 'fulfilled', value: { n } })
      }
    }
  })

  it('runs no statement inside another caller’s transaction', async () => {
    const db = opened(database.appUrl, { connections: 2 })
    const kept: string[] = []
    const dropped: string[] = []
    const proof = await memberProof()
    const transactions = Array.from({ length: 40 }, async (_, n) => {
      await delay(Math.random() * 20)
      const [mark, stray] = [randomUUID(), randomUUID()]
      const single = db.sql`insert into app.planted_marks (mark) values (${stray})`
      const failed = db.transaction('read write', async (sql) => {
        await proof.enter(sql)
        await sql`insert into app.planted_marks (mark) values (${mark})`
        throw new Error(`the work ${n} failed`)
      })
      const [outcome] = await Promise.allSettled([failed, single])
      expect(outcome.status).toBe('rejected')
      kept.push(stray)
      dropped.push(mark)
    })
    const looks = Array.from({ length: 200 }, async () => {
      await delay(Math.random() * 25)
      // Inside the transaction, row security would show the rows of its tenant.
      expect(await db.sql`select count(*)::int as rows from app.memberships`).toEqual([{ rows: 0 }])
    })
    await Promise.all([...transactions, ...looks])
    expect(await Promise.all(kept.map(marked))).not.toContain(false)
    expect(await Promise.all(dropped.map(marked))).not.toContain(true)
  })

  it('lets a waiting transaction start while single statements keep the connection busy', async () => {
    const db = opened(database.appUrl)
    const over = new AbortController()
    const busy = Promise.all(
      Array.from({ length: 4 }, async () => {
        while (!over.signal.aborted) await db.sql`select pg_sleep(0.002)`
      }),
    )
    for (let round = 0; round < 10; round += 1) {
      await db.transaction('read only', (sql) => sql`select 1`)
    }
    over.abort()
    await busy
  })

  it('completes or rejects each statement when the shared connection is lost', async () => {
    const db = opened(database.appUrl)
    for (let round = 0; round < 10; round += 1) {
      const pid = await pidOf(db.sql)
      const marks = Array.from({ length: 10 }, () => randomUUID())
      const inserts = marks.map((mark) => rejection(db.sql`insert into app.planted_marks (mark) values (${mark})`))
      await database.admin`select pg_terminate_backend(${pid})`
      const outcomes = await Promise.all(inserts)
      for (const [index, error] of outcomes.entries()) {
        expect(String(error)).not.toContain('in time')
        // Each insert either failed or was committed.
        expect(error === null ? await marked(marks[index] ?? '') : isUnavailable(error)).toBe(true)
      }
      await gone(pid)
      await delay(20)
      expect(await db.sql`select 1 as n`).toEqual([{ n: 1 }])
    }
  })
})

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

describe('the end of a read', () => {
  it('is not waited for, and leaves no transaction open while the instance is frozen', async () => {
    const { db, silence } = await cuttable()
    const proof = await memberProof()
    const pid = await proof.read(db, async (sql) => {
      const found = await pidOf(sql)
      silence()
      return found
    })
    const state = () => database.admin`select state from pg_stat_activity where pid = ${pid}`
    await vi.waitFor(async () => expect(await state()).toEqual([{ state: 'idle' }]))
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 })
    onTestFinished(() => void vi.useRealTimers())
    // The next use waits a moment for the response that does not come.
    expect(await pidOf(db.sql)).not.toBe(pid)
  })

  it('is confirmed after a minute in which the instance was frozen, and the connection is kept', async () => {
    const { db } = await cuttable()
    const pid = await pidOf(db.sql)
    await (await memberProof()).read(db, pidIn)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 })
    onTestFinished(() => void vi.useRealTimers())
    expect(await pidOf(db.sql)).toBe(pid)
  })

  it.for<[what: string, left: (sql: Sql) => Promise<unknown>]>([
    ['a statement fails behind it', async (sql) => void sql`select 1 / ${0}::int`.catch(() => {})],
    ['it leaves a prepared statement', (sql) => sql`prepare planted as select 1`],
    ['its connection is lost', async (sql) => void sql`select pg_terminate_backend(pg_backend_pid())`.catch(() => {})],
  ])('fails for no later request, and closes the connection with a line in the log, when %s', async ([_what, left]) => {
    const db = opened(database.appUrl)
    const logged = vi.spyOn(log, 'error').mockImplementation(() => {})
    onTestFinished(() => logged.mockRestore())
    const pid = await pidOf(db.sql)
    await db.transaction('read only', left)
    const [row] = await db.sql<{ pid: number; planted: number }>`
      select pg_backend_pid() as pid, (select count(*)::int from pg_prepared_statements where from_sql) as planted`
    expect(row?.planted).toBe(0)
    expect(row?.pid).not.toBe(pid)
    expect(logged).toHaveBeenCalledWith(expect.stringContaining('the connection was closed'), expect.anything())
  })
})

describe('a connection that was idle for a minute', () => {
  /** Opens a database and lets a minute pass. */
  async function idle() {
    const wire = await cuttable()
    const { key } = await liveSession()
    const check = () => authenticate(wire.db.uncleaned, [key, null], EVERY_USE)
    await check()
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 })
    onTestFinished(() => void vi.useRealTimers())
    return { ...wire, check, mark: randomUUID() }
  }

  it('checks a session once more on a new connection, when the network forgot it or it closes before it responds', async () => {
    const forgotten = await idle()
    forgotten.silence()
    expect((await forgotten.check())?.tenant?.id).toBe(acme)
    vi.useRealTimers()
    const closed = await idle()
    closed.cutAt(0)
    expect((await closed.check())?.tenant?.id).toBe(acme)
    closed.cutAt(0)
    await expectUnavailable(closed.check())
  })

  it('is replaced before a statement or a transaction runs on it, when the network forgot it', async () => {
    for (const write of [
      (db: Database, mark: string) => db.sql`insert into app.planted_marks (mark) values (${mark})`,
      (db: Database, mark: string) =>
        db.transaction('read write', (sql) => sql`insert into app.planted_marks (mark) values (${mark})`),
    ]) {
      const { db, silence, mark } = await idle()
      silence()
      await write(db, mark)
      expect(await marked(mark)).toBe(true)
      vi.useRealTimers()
    }
  })

  it('runs no write again that it was lost in', async () => {
    const { db, cutAt, mark } = await idle()
    // The first response is to the question whether the connection is there.
    cutAt(0, 1)
    await expectUnavailable(db.sql`insert into app.planted_marks (mark) values (${mark})`)
    expect(await db.sql`select 1 as n`).toEqual([{ n: 1 }])
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
    const { key } = await liveSession()
    const check = () => authenticate(db.uncleaned, [key, null], EVERY_USE)
    expect((await check())?.tenant?.id).toBe(acme)
    // A response ends with its row, CommandComplete (14 bytes) and ReadyForQuery (6 bytes).
    for (const bytes of [-1, -7, -15, -21, -40]) {
      cutAt(bytes)
      await expectUnavailable(check())
      expect((await check())?.tenant?.id).toBe(acme)
    }
  })
})
