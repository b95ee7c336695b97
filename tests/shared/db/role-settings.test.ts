import { afterAll, expect, it } from 'vitest'
import { SERVICE_ROLES } from '#shared/base/needs.ts'
import { connectTo } from '#tests/support/access.ts'
import { createTestDatabase } from '#tests/support/database.ts'

const database = await createTestDatabase()
afterAll(() => database.drop())

it('tells every login that a lock is taken before its client gives the connection up', async () => {
  const holder = await database.admin.reserve()
  await holder`select pg_advisory_lock(7)`
  const outcomes = SERVICE_ROLES.map(async (role) => {
    const connected = connectTo(database.urls[role])
    try {
      await expect(connected.sql`select pg_advisory_xact_lock(7)`, role).rejects.toMatchObject({ code: '55P03' })
      expect(await connected.sql`select 1 as one`, role).toEqual([{ one: 1 }])
    } finally {
      await connected.close()
    }
  })
  await Promise.all(outcomes)
  await holder`select pg_advisory_unlock(7)`
  holder.release()
})
