import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loginName } from '#shared/db/role-settings.ts'
import { SERVICE_ROLES } from '#shared/base/needs.ts'
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts'
import { createUser, mintSession } from '#tests/support/minted-session.ts'
import { ticketOf } from '#tests/support/proof.ts'
import { attempt, REFUSED } from './guarantee.ts'

// A column that refers to a user says who did it, unless its name is user_id: then the row belongs to that user.

const LOGINS = [...SERVICE_ROLES.map(loginName), 'tenant_bound']

const database: TestDatabase = await createTestDatabase()
const columns = await database.admin<{ name: string; table: string; column: string; default: string | null }[]>`
  select c.conrelid::regclass || '.' || a.attname as name, c.conrelid::regclass::text as table, a.attname as column, pg_get_expr(d.adbin, d.adrelid) as default
    from pg_constraint c
    join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
   where c.contype = 'f' and c.confrelid = 'app.users'::regclass and c.conparentid = 0 and a.attname <> 'user_id'
   order by 1`

let app: postgres.Sql
let stranger = ''
let ticket: Buffer

beforeAll(async () => {
  await createUser(database.admin, { email: 'author@acme.test', slugs: ['acme-print'] })
  stranger = await createUser(database.admin, { email: 'stranger@acme.test', slugs: ['acme-print'] })
  const { id } = await mintSession(database.admin, { email: 'author@acme.test', slug: 'acme-print' })
  ticket = await ticketOf(database.admin, id)
  app = postgres(database.appUrl, { max: 1, onnotice: () => {} })
})
afterAll(async () => {
  await app.end()
  await database.drop()
})

describe('a column that says who did it', () => {
  it('is found in the tables that have one', () => {
    expect(columns.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        'deals.created_by',
        'designs.approved_by',
        'memberships.invited_by',
        'tokens.invited_by',
      ]),
    )
  })

  it.each(columns)('$name is the user who acts in the transaction, or no login writes it itself', async (found) => {
    const [trigger] = await database.admin`
      select from pg_trigger t join pg_proc p on p.oid = t.tgfoid
       where t.tgrelid = ${`app.${found.table}`}::regclass and p.prosrc ~ ${`new\\.${found.column} :=.*current_actor`}`
    const writers = await database.admin`
      select role from unnest(${LOGINS}::text[]) as role where has_any_column_privilege(role, ${`app.${found.table}`}, 'INSERT, UPDATE')`
    const defaults = /^(app\.)?current_actor\(\)$/
    expect(defaults.test(found.default ?? '') || trigger !== undefined || writers.length === 0).toBe(true)
  })

  it.each(columns)('$name is named by no login', async ({ table, column }) => {
    const holders = await database.admin`
      select role from unnest(${LOGINS}::text[]) as role
       where has_column_privilege(role, ${`app.${table}`}, ${column}, 'INSERT')
          or has_column_privilege(role, ${`app.${table}`}, ${column}, 'UPDATE')`
    expect([...holders]).toEqual([])
  })

  it.each(columns)('$name names no other author, by any SQL of identity_app in its own tenant', async (found) => {
    await app`begin`
    await app`select app.enter_to_write(${ticket}, 'company.read', false)`
    for (const author of [`'${stranger}'`, 'null', 'app.current_actor()']) {
      for (const statement of [
        `insert into app.${found.table} (${found.column}) values (${author})`,
        `update app.${found.table} set ${found.column} = ${author}`,
      ])
        expect((await attempt(app, statement)).code, statement).toBe(REFUSED)
    }
    await app`rollback`
  })
})
