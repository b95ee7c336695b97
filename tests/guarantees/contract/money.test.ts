import type postgres from 'postgres'
import { afterAll, describe, expect, it } from 'vitest'
import { createTestDatabase } from '#tests/support/database.ts'
import { document } from '#tests/support/documented.ts'

// No floating point holds money, neither in the database nor on the wire. Each check also finds a planted fault. money.slow.test.ts
// checks the code by the types of its expressions.

const MONEY = /(^|_)(price|total|amount|cost)($|_(?!source))/

describe('the database', () => {
  const database = createTestDatabase()
  afterAll(async () => (await database).drop())

  /** Returns what could hold or handle money and is neither a unit price with four places nor an amount. */
  async function faults(sql: postgres.ISql): Promise<string[]> {
    const columns = await sql<{ name: string; column: string; type: string }[]>`
      select format('%s.%s', attrelid::regclass, attname) as name, attname as column,
             case when atttypid = 'app.amount'::regtype then 'app.amount'
                  else coalesce(format_type(nullif(typbasetype, 0), typtypmod), format_type(atttypid, atttypmod)) end as type
        from pg_attribute a join pg_class c on c.oid = attrelid join pg_type t on t.oid = atttypid
       where relnamespace = 'app'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'c') and attnum > 0 and not attisdropped`
    // Arguments, results and columns of results. The text of a function that handles money must name no such type either.
    const functions = await sql<{ name: string }[]>`
      select p.oid::regprocedure::text as name
        from pg_proc p
       where pronamespace = 'app'::regnamespace
         and (exists (select from unnest(coalesce(proallargtypes, proargtypes::oid[]) || prorettype) as used(type)
                       where format_type(type, null) ~ '^(real|double precision|money)')
              or (pg_get_functiondef(p.oid) ~* 'price|total|amount' and pg_get_functiondef(p.oid) ~* '\\m(real|float[48]?|double precision|money)\\M'))`
    return [
      ...columns
        .filter(({ type }) => /^(real|double precision|money)/.test(type))
        .map(({ name, type }) => `${name} ${type}`),
      ...columns
        .filter(({ column, type }) => MONEY.test(column) && !/^(numeric\(14,4\)|app\.amount)$/.test(type))
        .map(({ name, type }) => `${name} ${type}`),
      ...functions.map(({ name }) => name),
    ]
  }
  // How many products a run has, and the seconds until a job is tried again.
  const NO_MONEY = ['sync_runs.total integer', 'end_lease(uuid,uuid,text,double precision)']

  it('has unit prices in numeric columns with four places, amounts in a numeric domain, and no function that takes or returns another type', async () => {
    const { admin } = await database
    const [row] = await admin<{ count: number }[]>`
      select count(*)::int from information_schema.columns where table_schema = 'app' and column_name in ('unit_price', 'total')`
    expect(row?.count).toBeGreaterThan(2)
    expect(await faults(admin)).toEqual(NO_MONEY)
  })

  it.each([
    ['deals.fee real', 'alter table app.deals add fee real'],
    ['deals.fees double precision[]', 'alter table app.deals add fees float8[]'],
    ['deals.fee money', 'alter table app.deals add fee money'],
    ['deals.total numeric', 'alter table app.deals add total numeric'],
    ['deals.shipping_cost integer', 'alter table app.deals add shipping_cost integer'],
    ['deal_lines.old_price text', 'alter table app.deal_lines add old_price text'],
    ['planted(double precision)', 'create function app.planted(float8) returns int language sql return 1'],
    ['planted()', 'create function app.planted() returns table (a int, b real) language sql return (1, 2::real)'],
    [
      'planted()',
      'create function app.planted() returns numeric language sql return (select max(unit_price)::float8 from app.price_breaks)',
    ],
  ])('would show %s', async (fault, statement) => {
    const { admin } = await database
    await admin
      .begin(async (tx) => {
        await tx.unsafe(statement)
        expect(await faults(tx)).toContain(fault)
        throw new Error('rolled back')
      })
      .catch((error: Error) => expect(error.message).toBe('rolled back'))
  })
})

describe('the API document', () => {
  /** Returns the paths of properties that hold money and are not decimal strings. */
  function faults(part: unknown, path = ''): string[] {
    if (typeof part !== 'object' || part === null) return []
    return Object.entries(part).flatMap(([name, value]) => {
      const here = `${path}/${name}`
      if (!path.endsWith('/properties') || !MONEY.test(name)) return faults(value, here)
      const types = (value.anyOf ?? [value]).map(
        (each: { type: string; pattern?: string }) => each.type + Boolean(each.pattern),
      )
      return types.every((type: string) => type === 'stringtrue' || type === 'nullfalse') ? [] : [here]
    })
  }

  it('has money as decimal strings only', () => {
    expect(JSON.stringify(document)).toContain('"unit_price"')
    // How many entries, products and members.
    expect(faults(document)).toEqual([
      '/paths//v1/members/get/responses/200/content/application/json/schema/properties/total',
      '/components/schemas/AuditPosition/properties/total',
      '/components/schemas/SyncRun/properties/products_total',
      '/components/schemas/SyncRunDetail/properties/products_total',
    ])
  })

  it.each([{ type: 'number' }, { type: 'string' }, { anyOf: [{ type: 'integer' }, { type: 'null' }] }])(
    'would show a price that is %j',
    (price) => expect(faults({ properties: { unit_price: price } })).toEqual(['/properties/unit_price']),
  )
})
