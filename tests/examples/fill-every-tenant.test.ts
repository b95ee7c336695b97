import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Database } from '#shared/db/connect.ts'
import { connectTo } from '#tests/support/access.ts'
import { createTestDatabase, type TestDatabase } from '#tests/support/database.ts'
import { type FillBatch, fillEveryTenant } from './fill-every-tenant.ts'

let database: TestDatabase
let operator: Database
beforeAll(async () => {
  database = await createTestDatabase()
  // As the migration of the release would.
  await database.admin`grant select (id, customer_name), update (customer_name) on app.deals to identity_operator`
  await database.admin`
    with crowd as (
      insert into app.tenants (slug, legal_name, status)
      select 'crowd-' || n, 'Crowd', case n when 2 then 'suspended' else 'active' end from generate_series(1, 3) n returning id, currency)
    insert into app.deals (tenant_id, number, customer_name, currency)
    select c.id, n, 'Ann ' || n, c.currency from crowd c, generate_series(1, 450) n`
  operator = connectTo(database.operatorUrl, { connections: 2, prepare: true }, new Map())
})
afterAll(async () => {
  await operator.close()
  await database.drop()
})

const fill: FillBatch = async (sql, most) => {
  const changed = await sql`
    update app.deals set customer_name = customer_name || ' (checked)'
     where id in (select id from app.deals where customer_name not like '% (checked)' order by id limit ${most} for update)
    returning id`
  return changed.length
}

const left = async (): Promise<[left: number, all: number]> => {
  const [row] = await database.admin<{ left: number; all: number }[]>`
    select count(*) filter (where customer_name not like '% (checked)')::int as left, count(*)::int as all from app.deals`
  return [row?.left ?? -1, row?.all ?? -1]
}

it('the job that acts for every tenant stops between two batches, continues there, and changes each row of each tenant once', async () => {
  const [, all] = await left()
  expect(all).toBeGreaterThanOrEqual(3 * 450)
  let looks = 0
  expect(await fillEveryTenant(operator, fill, () => looks++ === 5)).toBeNull()
  const [remaining] = await left()
  expect(remaining).toBeGreaterThan(0)
  expect(remaining).toBeLessThan(all)
  expect(await fillEveryTenant(operator, fill)).toBe(remaining)
  expect(await left()).toEqual([0, all])
  expect(await fillEveryTenant(operator, fill)).toBe(0)
  const twice = await database.admin`select id from app.deals where customer_name like '%(checked) (checked)%'`
  expect(twice).toHaveLength(0)
})

it('changes nothing without the entry of a tenant', async () => {
  const changed = await operator
    .write((sql) => sql`update app.deals set customer_name = 'x' returning id`)
    .catch((error) => error.code)
  expect([[], 'TN500']).toContainEqual(changed)
})
