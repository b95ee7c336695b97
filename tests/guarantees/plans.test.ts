import type postgres from 'postgres'
import { afterAll, describe, expect, it } from 'vitest'
import { createTestDatabase } from '#tests/support/database.ts'

const database = await createTestDatabase()
afterAll(() => database.drop())

/** Runs `work` in a transaction and takes back what it did. */
const rolledBack = async (work: (sql: postgres.TransactionSql) => Promise<void>): Promise<void> => {
  const undo = new Error('roll back')
  await database.admin
    .begin(async (sql) => {
      await work(sql)
      throw undo
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error
    })
}

describe('a function of the database', () => {
  it('is in language sql only as an expression, which Postgres inlines: it plans any other body at each call', async () => {
    const planned = async (sql: postgres.Sql | postgres.TransactionSql): Promise<string[]> => {
      const rows = await sql<{ name: string }[]>`
        select p.proname as name from pg_proc p
         where p.pronamespace = 'app'::regnamespace and p.prolang = (select oid from pg_language where lanname = 'sql')
           and (p.prosqlbody is null or p.proconfig is not null or p.prosecdef or p.proretset
                or p.prosqlbody::text !~ ':rtable <>' or p.prosqlbody::text ~ ':hasSubLinks true')`
      return rows.map(({ name }) => name)
    }
    expect(await planned(database.admin)).toEqual([])
    await rolledBack(async (sql) => {
      await sql`create function app.planted() returns bigint language sql stable return (select count(*) from app.sizes)`
      expect(await planned(sql)).toEqual(['planted'])
    })
  })
})
