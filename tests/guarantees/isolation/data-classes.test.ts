import { readFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { createTestDatabase } from '#tests/support/database.ts'

const database = await createTestDatabase()
afterAll(() => database.drop())

const page = readFileSync(new URL('../../../infra/data-classification.md', import.meta.url), 'utf8')
const [, header = ''] = /^\| class \|(.*)\|$/m.exec(page) ?? []
const CLASSES = header.split('|').map((name) => name.trim())

/** Returns the columns that the comment of a table names, with their classes: `secret: token_hash; linked: id, user_id`. */
const classed = (comment: string | null): [column: string, name: string][] =>
  (comment ?? '').split('; ').flatMap((part) => {
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

const maintenance = readFileSync(new URL('../../../functions/workers/maintain/queries.ts', import.meta.url), 'utf8')
const deletionsIn = (text: string): string[] => text.match(/\bapp\.delete_old_\w+/g) ?? []

interface Rule {
  readonly data: string
  readonly period: string
  readonly by: string
}

const [, periods = ''] = /^## How long it is kept$([^]*?)^## /m.exec(page) ?? []
const rules: readonly Rule[] = [...periods.matchAll(/^\| (?!Data \|)(.+?) \| (.+?) \| ?(.*?) ?\|$/gm)].map(
  ([, data = '', period = '', by = '']) => ({ data, period, by }),
)

test('each rule of how long data is kept has a deletion of the same period, and each deletion a rule', async () => {
  const functions = await database.admin<{ name: string; periods: string[] }[]>`
    select 'app.' || p.proname as name,
           array(select distinct m[1] from regexp_matches(p.prosrc, 'interval ''([^'']+)''', 'g') m) as periods
      from pg_proc p where p.pronamespace = 'app'::regnamespace and p.proname like 'delete\\_old\\_%'`
  const called = deletionsIn(maintenance)
  expect(functions.length).toBeGreaterThan(5)
  expect(rules.length).toBeGreaterThan(functions.length)
  const missing = (names: readonly string[], known: readonly string[], fault: string) =>
    names.filter((name) => !known.includes(name)).map((name) => `${name} ${fault}`)
  const named = rules.flatMap(({ by }) => deletionsIn(by))
  const existing = functions.map(({ name }) => name)
  expect([
    ...missing(existing, named, 'has no rule in infra/data-classification.md'),
    ...missing(existing, called, 'is not in DELETIONS of functions/workers/maintain/queries.ts'),
    ...missing([...named, ...called], existing, 'is no function of the database'),
    ...rules
      .filter(({ period, by }) => by === '' && !period.startsWith('no automatic deletion'))
      .map(({ data }) => `the rule of ${data} names nothing that deletes`),
    ...rules.flatMap(({ data, period, by }) =>
      functions
        .filter(
          ({ name, periods: kept }) => deletionsIn(by).includes(name) && kept.some((each) => !period.includes(each)),
        )
        .map(({ name, periods: kept }) => `the rule of ${data} says ${period}, and ${name} ${kept.join()}`),
    ),
  ]).toEqual([])
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
