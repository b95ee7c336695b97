import { globSync, readFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { withPeriods } from '#infra/tools/kept.ts'
import { createTestDatabase } from '#tests/support/database.ts'

const database = await createTestDatabase()
afterAll(() => database.drop())

const page = readFileSync(new URL('../../../infra/data-classification.md', import.meta.url), 'utf8')
const [, header = ''] = /^\| class \|(.*)\|$/m.exec(page) ?? []
const CLASSES = header.split('|').map((name) => name.trim())

/** Returns the columns that the comment of a table names, with their classes: `secret: token_hash; linked: id, user_id`. */
const classed = (comment: string | null): [column: string, name: string][] =>
  (comment ?? '').split('; ').flatMap((part) => {
    if (part.startsWith('kept: ')) return []
    const [name = '', columns = ''] = part.split(': ')
    return columns.split(', ').map((column): [string, string] => [column, name])
  })

test('the comment of each table gives each column exactly one class of infra/data-classification.md', async () => {
  const tables = await database.admin<{ name: string; comment: string | null; columns: string[] }[]>`
    select c.oid::regclass::text as name, obj_description(c.oid, 'pg_class') as comment,
           array(select attname::text from pg_attribute
                  where attrelid = c.oid and attnum > 0 and not attisdropped order by 1) as columns
      from pg_class c
     where c.relnamespace = 'app'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`
  expect(tables.length).toBeGreaterThan(10)
  for (const { name, comment, columns } of tables) {
    const given = classed(comment)
    expect(given.map(([column]) => column).toSorted(), `comment on table ${name}`).toEqual(columns)
    expect(CLASSES, `comment on table ${name}`).toEqual(expect.arrayContaining(given.map(([, name]) => name)))
  }
})

test('the comment of each table says how long a row is kept, and infra/data-classification.md says the same', async () => {
  expect(await withPeriods(page, database.admin), 'the page is stale: run `npm run grants`').toBe(page)
})

test('each function that deletes old rows is in the comment of a table with its period, and a worker calls it', async () => {
  const functions = await database.admin<{ name: string; periods: string[]; kept: string | null }[]>`
    select p.proname as name,
           array(select distinct m[1] from regexp_matches(p.prosrc, 'interval ''([^'']+)''', 'g') m) as periods,
           (select min(obj_description(c.oid, 'pg_class')) from pg_class c
             where obj_description(c.oid, 'pg_class') ~ format('; kept: [^;]*, by app[.]%s$', p.proname)) as kept
      from pg_proc p where p.pronamespace = 'app'::regnamespace and p.proname like 'delete\\_old\\_%'`
  const sources = globSync('functions/workers/**/*.ts').map((file) => readFileSync(file, 'utf8'))
  expect(functions.length).toBeGreaterThan(5)
  const faults = functions.flatMap(({ name, periods, kept }) => [
    kept === null && `the comment of no table ends with: , by app.${name}`,
    !periods.every((period) => kept?.includes(`kept: ${period}`)) && `app.${name} deletes after ${periods.join()}`,
    !sources.some((source) => source.includes(`app.${name}(`)) && `no worker calls app.${name}`,
  ])
  expect(faults.filter(Boolean)).toEqual([])
})

/** Columns of the class tenant that name a tenant, or what it has. */
const NAMES = new Set([
  'tenants slug',
  'styles style_number',
  'styles name',
  'vendor_accounts account_number',
  // A line of text too, unless its column says why it has statistics.
])

test('the planner keeps no statistics of secrets, of people, or of names, because every role sees its estimates', async () => {
  const columns = await database.admin<
    { table: string; column: string; line: boolean; comment: string | null; kept: boolean }[]
  >`
    select c.relname as table, a.attname as column,
           t.typname = 'one_line' and coalesce(col_description(c.oid, a.attnum), '') !~ '^statistics: .' as line, obj_description(c.oid, 'pg_class') as comment,
           a.attstattarget is distinct from 0 as kept
      from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      join pg_type t on t.oid = a.atttypid
     where c.relnamespace = 'app'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and coalesce(nullif(t.typbasetype, 0), t.oid) in ('text'::regtype, 'bytea'::regtype)`
  const named = columns.filter(
    ({ table, column, line, comment }) =>
      line ||
      NAMES.has(`${table} ${column}`) ||
      classed(comment).some(([of, name]) => of === column && (name === 'secret' || name === 'personal')),
  )
  expect(named.length).toBeGreaterThan(14)
  expect(
    named
      .filter(({ kept }) => kept)
      .map(({ table, column }) => `alter table app.${table} alter column ${column} set statistics 0;`),
  ).toEqual([])
})
