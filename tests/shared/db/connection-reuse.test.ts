import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Database, Sql } from '#shared/db/connect.ts'
import { isUnavailable } from '#shared/db/failure.ts'
import { log } from '#shared/base/log.ts'
import { Ticket } from '#shared/identity/ticket.ts'
import { expectUnavailable, pidIn, pidOf, rejection, useConnections } from './connections.ts'

const { database, opened, behindWire, cuttable, marked, gone, memberProof, liveSession } = useConnections()

describe('a connection that is used again', () => {
  const PREPARED = 'prepare planted as select 1'
  const HELD = 'declare planted cursor with hold for select 1'
  const alone = (db: Database, text: string) => db.sql(Object.assign([text], { raw: [text] }))
  const inTransaction = (db: Database, ...texts: string[]) =>
    db.write(async (sql) => {
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

describe('a forged scope', () => {
  it.for<[what: string, forge: (db: Database) => Promise<unknown>]>([
    [
      'a tenant',
      (db) =>
        db.read(async (sql) => {
          const { tenant } = await liveSession()
          await sql`select set_config('app.scope', ${tenant}, true)`
          await sql`select id from app.memberships`
        }),
    ],
    [
      'a ticket',
      (db) =>
        new Ticket(randomBytes(90))
          .proof({ permission: 'deal.write', exclusive: false, stepUpSeconds: null })
          .read(db, pidIn),
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
    await db.read(left)
    const [row] = await db.sql<{ pid: number; planted: number }>`
      select pg_backend_pid() as pid, (select count(*)::int from pg_prepared_statements where from_sql) as planted`
    expect(row?.planted).toBe(0)
    expect(row?.pid).not.toBe(pid)
    expect(logged).toHaveBeenCalledWith(expect.stringContaining('the connection was closed'), expect.anything())
  })
})
