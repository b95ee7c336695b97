import { afterAll, expect, it } from 'vitest'
import { connectTo } from '#tests/support/access.ts'
import { createTestDatabase } from '#tests/support/database.ts'

const database = await createTestDatabase()
const db = connectTo(database.appUrl)
afterAll(async () => {
  await db.close()
  await database.drop()
})

it.for([
  ['2026-11-02 09:30:00+00', '2026-11-02T09:30:00.000Z'],
  ['2026-11-02 09:30:00.1+00', '2026-11-02T09:30:00.100Z'],
  ['2026-11-02 09:30:00.123456+00', '2026-11-02T09:30:00.123Z'],
  ['2026-11-02 09:30:00.999999+00', '2026-11-02T09:30:00.999Z'],
  ['2026-11-02 11:30:00.123456+02', '2026-11-02T09:30:00.123Z'],
  ['10000-01-01 00:00:00.123+00', '+010000-01-01T00:00:00.123Z'],
  ['infinity', 'infinity'],
] as const)('reads the time %s of the database as %s', async ([written, read]) => {
  expect(await db.sql`select ${written}::text::timestamptz as time`).toEqual([{ time: read }])
})

it('writes a time to the database with its microseconds', async () => {
  const time = '2026-11-02T09:30:00.123456Z'
  expect(await db.sql`select (${time}::timestamptz)::text as time`).toEqual([{ time: '2026-11-02 09:30:00.123456+00' }])
  const date = new Date('2026-11-02T09:30:00.123Z')
  expect(await db.sql`select (${date}::timestamptz)::text as time`).toEqual([{ time: '2026-11-02 09:30:00.123+00' }])
})
