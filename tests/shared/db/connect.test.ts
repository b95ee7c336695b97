import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isUnavailable } from '#shared/db/failure.ts'
import { authenticate } from '#shared/identity/session-queries.ts'
import { EVERY_USE, pidOf, rejection, useConnections } from './connections.ts'

const { database, opened, behindWire, marked, gone, liveSession, memberProof } = useConnections()

describe('round trips with prepared statements', () => {
  it('reads in a tenant in two round trips: the statements, and the commit, for which the next use waits', async () => {
    const { db, roundTrips } = await behindWire()
    const proof = await memberProof()
    const read = () => proof.read(db, (sql) => sql`select id from app.memberships where role_id = ${1}`)
    await read()
    await read()
    await db.call.repeatable`select 1`
    const both = async () => {
      await read()
      await db.call.repeatable`select 1`
    }
    expect(await roundTrips(both)).toBe(3)
  })

  it('checks a session in one round trip, also while two peppers are active', async () => {
    const { db, roundTrips } = await behindWire()
    const { key, tenant } = await liveSession()
    const other = randomBytes(32)
    for (const keys of [[key, null] as const, [key, other] as const, [other, key] as const]) {
      const check = () => authenticate(db.call.repeatable, keys, EVERY_USE)
      expect((await check())?.tenant?.id).toBe(tenant)
      expect(await roundTrips(check)).toBe(1)
    }
    const nobody = () => authenticate(db.call.repeatable, [other, randomBytes(32)], EVERY_USE)
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

  it('commits a single statement in its round trip', async () => {
    const { db, roundTrips } = await behindWire()
    const write = () => db.call.committing`insert into app.planted_marks (mark) values (${randomUUID()})`.committed
    await write()
    expect(await roundTrips(write)).toBe(1)
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
    await db.write((sql) => sql`insert into app.planted_marks (mark) values (${kept})`)
    const failed = db.write(async (sql) => {
      await sql`insert into app.planted_marks (mark) values (${dropped})`
      throw new Error('the work failed')
    })
    await expect(failed).rejects.toThrow('the work failed')
    expect([await marked(kept), await marked(dropped)]).toEqual([true, false])
  })

  it('rejects writes in a read only transaction', async () => {
    const db = opened(database.appUrl)
    const mark = randomUUID()
    const refused = db.read((sql) => sql`insert into app.planted_marks (mark) values (${mark})`)
    await expect(refused).rejects.toMatchObject({ code: '25006' })
    expect(await marked(mark)).toBe(false)
  })

  it('rejects statements after the end of their transaction', async () => {
    const db = opened(database.appUrl)
    const [first, second] = [randomUUID(), randomUUID()]
    let kept = db.sql
    await db.write(async (sql) => {
      kept = sql
    })
    await expect(kept`insert into app.planted_marks (mark) values (${first})`).rejects.toThrow('after the end')
    const failed = db.write(async (sql) => {
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
    const swallowed = db.write(async (sql) => {
      await sql`insert into app.planted_marks (mark) values (${mark})`
      await sql`select 1 / ${0}::int`.catch(() => {})
    })
    await expect(swallowed).rejects.toThrow()
    expect(await marked(mark)).toBe(false)
    const unawaited = db.write(async (sql) => {
      await sql`insert into app.planted_marks (mark) values (${mark})`
      sql`select 1 / ${0}::int`.catch(() => {})
    })
    await expect(unawaited).rejects.toThrow()
    expect(await marked(mark)).toBe(false)
    expect(await db.sql`select 1 as n`).toEqual([{ n: 1 }])
  })

  it('returns the rows of a committing statement before its commit, and rejects without one', async () => {
    const { admin } = database
    await admin`create function public.refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`
    const refused = randomUUID()
    await admin.unsafe(`
      create constraint trigger refused after insert on app.planted_marks deferrable initially deferred
        for each row when (new.mark = '${refused}') execute function public.refuse()`)
    onTestFinished(async () => void (await admin`drop function public.refuse cascade`))
    for (const prepare of [true, false]) {
      const db = opened(database.appUrl, { prepare })
      for (const mark of [randomUUID(), refused]) {
        const { rows, committed } = db.call
          .committing`insert into app.planted_marks (mark) values (${mark}) returning mark`
        expect(await rows).toEqual([{ mark }])
        const [{ status }] = await Promise.allSettled([committed])
        expect(status).toBe(mark === refused ? 'rejected' : 'fulfilled')
        expect(await marked(mark)).toBe(mark !== refused)
      }
      const failed = db.call.committing`select 1 / ${0}::int`
      await expect(failed.rows).rejects.toMatchObject({ code: '22012' })
      await expect(failed.committed).rejects.toMatchObject({ code: '22012' })
      expect(await db.sql`select 1 as n`).toEqual([{ n: 1 }])
    }
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

it('keeps its timeouts, and writes, when a role changed its own defaults', async () => {
  const { admin, name } = database
  const change = (words: string) => admin.unsafe(`alter role identity_app in database ${name} ${words}`)
  await change(`set statement_timeout = '20d'`)
  await change('set default_transaction_read_only = on')
  await change('set row_security = off')
  // Without a library of this name, Postgres refuses each new connection.
  await change(`set local_preload_libraries = 'missing'`)
  onTestFinished(async () => {
    await change('reset all')
  })
  const db = opened(database.appUrl)
  expect(
    await db.sql`select current_setting('statement_timeout') as timeout, current_setting('row_security') as guarded`,
  ).toEqual([{ timeout: '2s', guarded: 'on' }])
  await db.sql`insert into app.planted_marks (mark) values (${randomUUID()})`
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
      const failed = db.write(async (sql) => {
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
      await db.read((sql) => sql`select 1`)
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
