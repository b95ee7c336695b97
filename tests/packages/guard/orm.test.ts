import { readFile } from 'node:fs/promises'
import type { Principal } from '@tenantry/guard'
import { testPrincipal } from '@tenantry/guard/testing'
import { Pool } from 'pg'
import postgres from 'postgres'
import { afterAll, describe, expect, it } from 'vitest'
import * as byDrizzle from '#tests/consumer/orders-by-drizzle.ts'
import * as byKysely from '#tests/consumer/orders-by-kysely.ts'
import { createOrdersSchema } from '#tests/consumer/orders-database.ts'
import { createTestDatabase } from '#tests/support/database.ts'
import { createTenantWith } from '#tests/support/minted-session.ts'

const database = await createTestDatabase()
const url = await createOrdersSchema(database.admin, database.appUrl)
const sql = postgres(url, { max: 1, onnotice: () => {} })
const pool = new Pool({ connectionString: url, max: 1, pipeline: true })
afterAll(async () => {
  await sql.end()
  await pool.end()
  await database.drop()
})

async function newPrincipal(): Promise<Principal> {
  const { sales } = await createTenantWith(database.admin, 'sales')
  const [row] = await database.admin<{ proof: Buffer }[]>`
    select app.service_proof(a.ticket) as proof from app.sessions s, app.authenticate(s.token_key, 60) a where s.id = ${sales.id}`
  return testPrincipal({ proof: row?.proof.toString('base64url') ?? '' })
}

const BUILDERS = {
  drizzle: {
    list: (of: Principal) => byDrizzle.listOrders(sql, of),
    create: (of: Principal, title: string) => byDrizzle.createOrder(sql, of, title),
  },
  kysely: {
    list: (of: Principal) => byKysely.listOrders(pool, of),
    create: (of: Principal, title: string) => byKysely.createOrder(pool, of, title),
  },
}

describe.each(Object.entries(BUILDERS))('the example with %s', (name, { list, create }) => {
  it('reads and writes the rows of its tenant alone', async () => {
    const [mine, theirs] = [await newPrincipal(), await newPrincipal()]
    expect(await create(mine, 'of mine')).toMatchObject([{ title: 'of mine' }])
    await create(theirs, 'of theirs')
    expect(await list(mine)).toMatchObject([{ title: 'of mine' }])
    await expect(create({ ...mine, proof: '' }, 'of nobody')).rejects.toMatchObject({ name: 'TenantRefused' })
  })

  it('is the one of the README', async () => {
    const [readme, example] = await Promise.all([
      readFile('packages/guard/README.md', 'utf8'),
      readFile(`tests/consumer/orders-by-${name}.ts`, 'utf8'),
    ])
    expect(readme).toContain(example)
  })
})
