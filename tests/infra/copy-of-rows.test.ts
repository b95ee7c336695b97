import postgres from 'postgres'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts'

// The owner's login of Aurora is no superuser, has no BYPASSRLS, and is a member of identity_owner.
let database: TestDatabase
let sql: postgres.Sql
let login = ''
beforeAll(async () => {
  database = await createTestDatabase()
  const [row] = await database.admin<{ name: string }[]>`select current_database() as name`
  login = `copies_${row?.name.replaceAll('-', '_')}`
  await database.admin.unsafe(`create role ${login} login password 'copies' in role identity_owner`)
  const url = new URL(database.appUrl)
  Object.assign(url, { username: login, password: 'copies' })
  sql = postgres(url.href, { max: 1, onnotice: () => {} })
  await database.admin`
    insert into app.deals (tenant_id, number, customer_name, currency)
    select id, 900 + n, 'Ann', currency from app.tenants, generate_series(1, 2) n`
})
afterAll(async () => {
  await sql.end()
  await database.admin.unsafe(`drop owned by ${login}; drop role ${login}`)
  await database.drop()
})

async function copied(columns: string, tx: postgres.Sql | postgres.TransactionSql = sql): Promise<string> {
  const stream = await tx.unsafe(`copy (select ${columns} from app.deals order by id) to stdout`).readable()
  const parts: string[] = []
  for await (const part of stream) parts.push(String(part))
  return parts.join('')
}

const COLUMNS =
  'id, tenant_id, number, customer_name, status, currency, created_by, created_by_key, created_at, updated_at'

it('the runbook copies the rows of a guarded table from a restored cluster to the current one, as the owner', async () => {
  const page = readFileSync('infra/runbook/recovery.md', 'utf8')
  const [lift, restore] = [
    'alter table app.deals no force row level security',
    'alter table app.deals force row level security',
  ]
  for (const step of ['set role identity_owner', lift, restore]) expect(page).toContain(`${step};`)

  await sql.unsafe('set role identity_owner')
  // What pg_dump does first.
  await sql.unsafe('set row_security = off')
  await expect(copied(COLUMNS)).rejects.toThrow('query would be affected by row-level security policy')

  await sql.unsafe(lift)
  const lines = await copied(COLUMNS)
  const [count] =
    await database.admin`select count(*)::int as rows, count(distinct tenant_id)::int as tenants from app.deals`
  expect(lines.trim().split('\n')).toHaveLength(count?.['rows'])
  expect(count?.['tenants']).toBeGreaterThan(1)
  await sql.unsafe(restore)

  // The rows are lost, and come back.
  await database.admin`delete from app.deals where number > 900`
  await expect(
    sql.begin(async (tx) => {
      const stream = await tx.unsafe(`copy app.deals (${COLUMNS}) from stdin`).writable()
      stream.end(lines)
      await new Promise((resolve, reject) => stream.on('finish', resolve).on('error', reject))
    }),
  ).rejects.toThrow('row-level security')
  const lost = lines.split('\n').filter((line) => Number(line.split('\t')[2]) > 900)
  await sql.begin(async (tx) => {
    await tx.unsafe(lift)
    const stream = await tx.unsafe(`copy app.deals (${COLUMNS}) from stdin`).writable()
    stream.end(`${lost.join('\n')}\n`)
    await new Promise((resolve, reject) => stream.on('finish', resolve).on('error', reject))
    await tx.unsafe(restore)
  })
  await sql.unsafe('set row_security = on')
  expect((await database.admin`select id from app.deals where number > 900`).length).toBe(lost.length)
  // The guard is back.
  expect(await sql`select id from app.deals`).toHaveLength(0)
})
