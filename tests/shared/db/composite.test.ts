import { randomBytes } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { limitValue, sourceValue } from '#shared/db/composite.ts'
import { createTestDatabase } from '#tests/support/database.ts'

const database = await createTestDatabase()
afterAll(() => database.drop())

test.each(['r', '', ' a b ', 'a,b)', '(",")', '"', '""', '\\', '\\"', "o'neil", '\\x00', 'NULL', 'null', '🦊\n\t'])(
  'a source keeps an id of a client that is %j, and its other parts',
  async (id) => {
    const ipHash = randomBytes(32)
    const [row] =
      await database.admin`select (s).* from (select ${sourceValue({ requestId: id, clientRequestId: id, ipHash })}::app.source as s) as given`
    expect(row).toEqual({ request_id: id, client_request_id: id, ip_hash: ipHash })
  },
)

test('a source without a client and an address has nulls', async () => {
  const [row] =
    await database.admin`select (s).* from (select ${sourceValue({ requestId: 'r' })}::app.source as s) as given`
  expect(row).toEqual({ request_id: 'r', client_request_id: null, ip_hash: null })
})

test('a limit keeps its parts', async () => {
  const subject = randomBytes(32)
  const [row] = await database.admin`
    select (l).* from (select ${limitValue({ subject, limit: 9, windowSeconds: 60 })}::app.limit as l) as given`
  expect(row).toEqual({ key: subject, most: 9, seconds: 60 })
})
