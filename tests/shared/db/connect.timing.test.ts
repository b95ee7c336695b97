import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { connect } from '#shared/db/connect.ts'
import { loginOf } from '#infra/local/postgres/database.ts'
import { expectUnavailable, useConnections } from './connections.ts'

const { database, opened, behindWire, marked } = useConnections()
afterEach(() => vi.useRealTimers())

const passHalfASecond = () => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 500 })

async function expectSoonUnavailable(work: Promise<unknown>, withinMs = 3000): Promise<void> {
  const asked = performance.now()
  await expectUnavailable(work)
  expect(performance.now() - asked).toBeLessThan(withinMs)
}

describe('an unresponsive server', () => {
  it.for(['a statement', 'a transaction', 'a first connection'])(
    'rejects %s within 3 s when the server does not respond, and recovers',
    async (kind) => {
      const { db, faults } = await behindWire()
      const mark = randomUUID()
      if (kind !== 'a first connection') await db.sql`select 1`
      const work =
        kind === 'a transaction'
          ? db.write(async (sql) => {
              await sql`insert into app.planted_marks (mark) values (${mark})`
              await faults.set({ part: 'postgres', mode: 'hang' })
              await sql`insert into app.planted_marks (mark) values (${randomUUID()})`
            })
          : (async () => {
              await faults.set({ part: 'postgres', mode: 'hang' })
              await db.sql`insert into app.planted_marks (mark) values (${mark})`
            })()
      await expectSoonUnavailable(work)
      await faults.set({ part: 'postgres', mode: 'ok' })
      if (kind === 'a first connection') passHalfASecond()
      expect(await db.sql`select 1 as n`).toEqual([{ n: 1 }])
      expect(await marked(mark)).toBe(false)
    },
  )

  it('rejects work immediately for half a second after a new connection got no response', async () => {
    const { db, faults } = await behindWire()
    await faults.set({ part: 'postgres', mode: 'hang' })
    await expectSoonUnavailable(db.sql`select 1`)
    await faults.set({ part: 'postgres', mode: 'ok' })
    await expectSoonUnavailable(db.sql`select 1`, 100)
    passHalfASecond()
    expect(await db.sql`select 1 as n`).toEqual([{ n: 1 }])
  })

  it('opens a connection immediately after Secrets Manager returned a login too late', async () => {
    const login = loginOf(database.appUrl)
    let wait = 2600
    const read = () => delay(wait, login)
    const db = connect(read, { connections: 1, prepare: true, tls: 'disable', caFile: '' })
    onTestFinished(() => db.close())
    await expectSoonUnavailable(db.sql`select 1`)
    wait = 0
    expect(await db.sql`select 1 as n`).toEqual([{ n: 1 }])
  })

  it('rejects work that waits for a connection within 3 s when the server does not respond', async () => {
    const { db, faults } = await behindWire()
    await db.sql`select 1`
    await faults.set({ part: 'postgres', mode: 'hang' })
    await Promise.all(
      Array.from({ length: 4 }, async (_, index) => {
        await delay(index * 200)
        await expectSoonUnavailable(index % 2 === 0 ? db.sql`select 1` : db.read((sql) => sql`select 1`))
      }),
    )
  })

  it('rejects work within 3 s when no connection becomes free', async () => {
    const db = opened(database.appUrl)
    let finish = () => {}
    const occupied = db.write(async (sql) => {
      await sql`select 1`
      await new Promise<void>((resolve) => {
        finish = resolve
      })
    })
    await expectSoonUnavailable(db.sql`select 1`)
    finish()
    await occupied
    expect(await db.sql`select 1 as n`).toEqual([{ n: 1 }])
  })
})
