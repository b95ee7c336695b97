import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createFaults } from '#infra/local/faults.ts'
import { urlFor } from '#infra/local/postgres/database.ts'
import { startPostgresWire } from '#infra/local/postgres/postgres-wire.ts'
import type { Database } from '#shared/db/connect.ts'
import { isUnavailable } from '#shared/db/failure.ts'
import { connectTo } from '#tests/support/access.ts'
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  await database.admin`create table app.planted_marks (mark uuid primary key)`
  await database.admin`grant select, insert on app.planted_marks to identity_app`
})
afterAll(() => database.drop())

function opened(url: string): Database {
  const db = connectTo(url)
  onTestFinished(() => db.close())
  return db
}

/** A database behind a proxy that can stop responding. */
async function behindWire() {
  const { hostname, port } = new URL(database.appUrl)
  const faults = createFaults()
  const wire = await startPostgresWire({ host: hostname, port: Number(port), faults })
  onTestFinished(() => wire.close())
  return { db: opened(urlFor(database.appUrl, { hostname: '127.0.0.1', port: wire.port })), faults }
}

const marked = async (mark: string): Promise<boolean> =>
  (await database.admin`select from app.planted_marks where mark = ${mark}`).length > 0

async function expectUnavailable(work: Promise<unknown>): Promise<void> {
  const asked = performance.now()
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(isUnavailable(error), String(error)).toBe(true)
  expect(performance.now() - asked).toBeLessThan(3000)
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
          ? db.transaction('read write', async (sql) => {
              await sql`insert into app.planted_marks (mark) values (${mark})`
              await faults.set({ part: 'postgres', mode: 'hang' })
              await sql`insert into app.planted_marks (mark) values (${randomUUID()})`
            })
          : (async () => {
              await faults.set({ part: 'postgres', mode: 'hang' })
              await db.sql`insert into app.planted_marks (mark) values (${mark})`
            })()
      await expectUnavailable(work)
      await faults.set({ part: 'postgres', mode: 'ok' })
      expect(await db.sql`select 1 as n`).toEqual([{ n: 1 }])
      expect(await marked(mark)).toBe(false)
    },
  )

  it('rejects work that waits for a connection within 3 s when the server does not respond', async () => {
    const { db, faults } = await behindWire()
    await db.sql`select 1`
    await faults.set({ part: 'postgres', mode: 'hang' })
    await Promise.all(
      Array.from({ length: 4 }, async (_, index) => {
        await delay(index * 200)
        await expectUnavailable(
          index % 2 === 0 ? db.sql`select 1` : db.transaction('read only', (sql) => sql`select 1`),
        )
      }),
    )
  })

  it('rejects work within 3 s when no connection becomes free', async () => {
    const db = opened(database.appUrl)
    let finish = () => {}
    const occupied = db.transaction('read write', async (sql) => {
      await sql`select 1`
      await new Promise<void>((resolve) => {
        finish = resolve
      })
    })
    await expectUnavailable(db.sql`select 1`)
    finish()
    await occupied
    expect(await db.sql`select 1 as n`).toEqual([{ n: 1 }])
  })
})
