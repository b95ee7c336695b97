import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Database } from '#shared/db/connect.ts'
import { connectTo } from '#tests/support/access.ts'
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts'

let database: TestDatabase
let app: Database
beforeAll(async () => {
  database = await createTestDatabase()
  app = connectTo(database.appUrl)
})
afterAll(async () => {
  await app.close()
  await database.drop()
})

const resolve = async (alias: string): Promise<string | null> => {
  const [row] = await app.sql<{ code: string | null }>`
    select (select code from app.sizes where id = app.resolve_size(${alias}::text)) as code`
  return row?.code ?? null
}

it('resolves every spelling of a size to one id, in any case and with spaces around it', async () => {
  for (const alias of ['2XL', 'XXL', '2X', 'XX-LARGE', 'xxl', 'Xx-Large', ' 2xl ']) {
    expect(await resolve(alias), alias).toBe('2XL')
  }
  expect(await resolve('one size fits all')).toBe('OSFA')
})

it('resolves every alias and every code of a size', async () => {
  const unresolved = await app.sql`
    select a.alias from app.size_aliases a where app.resolve_size(a.alias) is distinct from a.size_id
    union select s.code from app.sizes s where app.resolve_size(s.code) is distinct from s.id`
  expect(unresolved).toEqual([])
})

it('resolves an unknown size to null', async () => {
  for (const alias of ['', ' ', 'XXL.', 'X XL', '2 XL', '7XL', 'XXLL', '%'])
    expect(await resolve(alias), alias).toBeNull()
})
