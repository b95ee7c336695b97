import * as fc from 'fast-check'
import type postgres from 'postgres'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import type { TestTenant } from '#tests/support/minted-session.ts'
import { useService } from '#tests/support/test.ts'

// Deal numbers, prices and totals, compared with a naive model. Each guard is also removed: then the test must fail.

const service = useService()
let tenant: TestTenant<'sales'>
let other: TestTenant<'sales'>
let styles: readonly string[]

const newStyle = async (tenantId: string, number: string): Promise<string> => {
  const [row] = await service.sql<{ id: string }[]>`
    insert into app.styles (tenant_id, style_number, name, brand, category)
    values (${tenantId}, ${number}, 'Tee', 'Brand', 'Tees') returning id`
  return row?.id ?? ''
}
beforeAll(async () => {
  tenant = await service.newTenant('sales')
  other = await service.newTenant('sales')
  styles = [await newStyle(tenant.id, 'E-1'), await newStyle(tenant.id, 'E-2')]
})

const createDeal = ({ sales }: TestTenant<'sales'>) =>
  service.request('POST /v1/deals', { token: sales.token, body: { customer_name: 'A Customer' } })
const call = async (route: string, body: object): Promise<any> => {
  const answer = await service.request(route, { token: tenant.sales.token, body })
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

/** Runs statements in the scope of the tenant, and rolls them back. */
async function rehearse<T>(work: (tx: postgres.TransactionSql) => Promise<T>): Promise<T> {
  const done = new Error('rolled back')
  let result: T | undefined
  await service.sql
    .begin(async (tx) => {
      await tx`select app.set_tenant(${tenant.id})`
      result = await work(tx)
      throw done
    })
    .catch((error: unknown) => {
      if (error !== done) throw error
    })
  return result as T
}

describe('deal numbers', () => {
  it('count from 1 without a gap in each of two tenants, when sixty deals (npm test: twenty) of each are created concurrently', async () => {
    const many = inject('thorough') ? 60 : 20
    const tenants = [await service.newTenant('sales'), await service.newTenant('sales')]
    const answers = await Promise.all(
      Array.from({ length: 2 * many }, async (_, index) => {
        const one = tenants[index % 2]
        if (one === undefined) throw new Error('no tenant')
        return { id: one.id, ...(await createDeal(one)) }
      }),
    )
    for (const { id, sales } of tenants) {
      const numbers = answers.filter((answer) => answer.id === id).map(({ body }) => body.number)
      expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: many }, (_, index) => index + 1))
      const list = await service.request('GET /v1/deals?limit=100', { token: sales.token })
      const listed = list.body.data.map(({ number }: { number: number }) => number)
      expect(listed).toEqual(numbers.toSorted((a, b) => b - a))
    }
  })

  it('are not used again after the last deal is deleted, and leave no gap for one that was not created', async () => {
    const { body: deal } = await createDeal(other)
    await rehearse((tx) => tx`select app.next_deal_number()`)
    await service.sql`delete from app.deals where id = ${deal.id}`
    expect((await createDeal(other)).body.number).toBe(deal.number + 1)
  })

  it('collide when the function counts the deals instead', async () => {
    const [{ definition }] = await service.sql<[{ definition: string }]>`
      select pg_get_functiondef('app.next_deal_number'::regproc) as definition`
    await service.sql.unsafe(`create or replace function app.next_deal_number() returns integer language sql volatile
      return (select coalesce(max(number), 0) + 1 from app.deals where tenant_id = app.required_tenant())`)
    const statuses: number[] = []
    const race = async () =>
      statuses.push(
        ...(await Promise.all(Array.from({ length: 20 }, () => createDeal(other)))).map(({ status }) => status),
      )
    for (let round = 0; round < 10 && !statuses.includes(500); round += 1) await race()
    await service.sql.unsafe(definition)
    expect(statuses).toContain(500)
  })
})

describe('a function of prices and numbers', () => {
  it.each(['app.next_deal_number()', `app.unit_price(gen_random_uuid(), 1)`])(
    '%s fails without a tenant',
    async (name) => {
      await expect(service.sql.unsafe(`select ${name}`)).rejects.toMatchObject({ code: 'TN500' })
    },
  )
})

/** Prices are whole numbers of a ten-thousandth here, totals of a hundredth. */
const decimal = (value: bigint, places: number): string => {
  const digits = String(value).padStart(places + 1, '0')
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`
}
const LARGEST_TOTAL = 99_999_999_999_999n
const totalOf = (quantity: number, price: bigint): bigint => (BigInt(quantity) * price + 50n) / 100n

interface Break {
  readonly quantity: number
  readonly price: bigint
}
const modelPrice = (breaks: readonly Break[], quantity: number): bigint | null =>
  breaks.filter((each) => each.quantity <= quantity).toSorted((a, b) => b.quantity - a.quantity)[0]?.price ?? null

const price = fc.oneof(fc.bigInt(0n, 99_999n), fc.bigInt(0n, 99_999_999_999_999n))
const quantity = fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 1_000_000 }))
const breaks = fc.uniqueArray(fc.record({ quantity, price }), { maxLength: 50, selector: (each) => each.quantity })

/** Compares app.unit_price with the model, on random breaks and quantities. */
const unitPricesAgree = (tx: postgres.TransactionSql): Promise<void> =>
  fc.assert(
    fc.asyncProperty(breaks, fc.array(quantity, { minLength: 1, maxLength: 5 }), async (given, random) => {
      await tx`delete from app.price_breaks where style_id = ${styles[0] ?? ''}`
      for (const each of given)
        await tx`
          insert into app.price_breaks (tenant_id, style_id, style_scope, min_quantity, unit_price)
          values (${tenant.id}, ${styles[0] ?? ''}, ${tenant.id}, ${each.quantity}, ${decimal(each.price, 4)}::numeric)`
      // The quantities of the breaks themselves, and those beside them.
      const near = given.flatMap((each) => [each.quantity - 1, each.quantity, each.quantity + 1])
      const quantities = [...random, ...near]
      const rows = await tx<{ price: string | null }[]>`
        select app.unit_price(${styles[0] ?? ''}, q) as price from unnest(${quantities}::int[]) with ordinality as t (q, n) order by n`
      const expected = quantities.map((each) => modelPrice(given, each))
      expect(rows.map((row) => row.price)).toEqual(expected.map((each) => (each === null ? null : decimal(each, 4))))
    }),
    { numRuns: 25, endOnFailure: true },
  )

describe('the unit price', () => {
  it('is that of the greatest break that the quantity reaches, for random breaks and quantities', async () => {
    await rehearse(unitPricesAgree)
  })

  it.each([
    ['takes the smallest break', 'order by b.min_quantity desc', 'order by b.min_quantity'],
    ['must exceed the break', 'b.min_quantity <= p_quantity', 'b.min_quantity < p_quantity'],
    ['takes the lowest price', 'order by b.min_quantity desc', 'order by b.unit_price'],
    ['computes in floating point', 'select b.unit_price', 'select b.unit_price::float4'],
  ])('differs from the model when the function %s', async (_what, part, by) => {
    const body = `select b.unit_price from app.price_breaks b
      where b.tenant_id = app.required_tenant() and b.style_id = p_style_id and b.min_quantity <= p_quantity
      order by b.min_quantity desc limit 1`
    const replace = (text: string) =>
      `create or replace function app.unit_price(p_style_id uuid, p_quantity bigint) returns numeric language sql stable return (${text})`
    await rehearse(async (tx) => {
      await tx.unsafe(replace(body))
      await unitPricesAgree(tx)
      await tx.unsafe(replace(body.replace(part, by)))
      await expect(unitPricesAgree(tx)).rejects.toThrow('Property failed')
    })
  })
})

describe('totals', () => {
  it('are exact for random lines, and the break of a line is that of its style’s total quantity', async () => {
    const line = fc.record({ style: fc.nat(1), quantity: fc.integer({ min: 1, max: 999 }), manual: fc.option(price) })
    const { id } = (await createDeal(tenant)).body
    await fc.assert(
      fc.asyncProperty(fc.tuple(breaks, breaks), fc.array(line, { maxLength: 20 }), async (given, lines) => {
        // The first quantity always qualifies.
        const ofStyle = given.map((each) =>
          [...each.filter((one) => one.quantity > 1), { quantity: 1, price: 12_345n }].slice(-50),
        )
        for (const [index, each] of ofStyle.entries())
          await call(`PUT /v1/price-breaks/${styles[index]}`, {
            breaks: each.map((one) => ({ min_quantity: one.quantity, unit_price: decimal(one.price, 4) })),
          })
        const { status, body } = await service.request(`PUT /v1/deals/${id}/lines`, {
          token: tenant.sales.token,
          body: {
            lines: lines.map(({ style, quantity, manual }) => ({
              style_id: styles[style],
              quantity,
              unit_price: manual === null ? null : decimal(manual, 4),
            })),
          },
        })
        const inDeal = (style: number) =>
          lines.filter((one) => one.style === style).reduce((sum, one) => sum + one.quantity, 0)
        const expected = lines.map(({ style, quantity, manual }) => {
          const unit = manual ?? modelPrice(ofStyle[style] ?? [], inDeal(style)) ?? -1n
          return { unit, total: totalOf(quantity, unit) }
        })
        const sum = expected.reduce((all, { total }) => all + total, 0n)
        expect(status).toBe(sum > LARGEST_TOTAL ? 422 : 200)
        if (status === 422) return
        expect(body.lines).toMatchObject(
          expected.map(({ unit, total }) => ({ unit_price: decimal(unit, 4), total: decimal(total, 2) })),
        )
        expect(body.total).toBe(decimal(sum, 2))
      }),
      { numRuns: 15 },
    )
  })

  // A binary fraction gives another total in most of these.
  it.each([
    [1, '0.0049', '0.00'],
    [1, '0.005', '0.01'],
    [1, '1.005', '1.01'],
    [1, '2.675', '2.68'],
    [3, '0.115', '0.35'],
    [3, '33.335', '100.01'],
    [7, '0.0007', '0.00'],
    [8, '0.0007', '0.01'],
    [1_000_000, '9999.9999', '9999999900.00'],
    [999_999, '1234.5675', '1234566265.43'],
  ])('round %i × %s half away from zero to %s', async (count, unit, total) => {
    const { id } = (await createDeal(tenant)).body
    const body = await call(`PUT /v1/deals/${id}/lines`, {
      lines: [{ style_id: styles[0], quantity: count, unit_price: unit }],
    })
    expect([body.lines[0].total, body.total]).toEqual([total, total])
  })
})

describe('an amount', () => {
  // The minor units of ISO 4217: none, two by default, three and four.
  it.each([
    ['JPY', '452', '0', '0'],
    ['KRW', '452', '0', '0'],
    ['USD', '451.90', '0.00', '0.38'],
    // ICU has no decimals for it, because cash has none.
    ['HUF', '451.90', '0.00', '0.38'],
    ['KWD', '451.900', '0.000', '0.375'],
    ['CLF', '451.9000', '0.0000', '0.3750'],
  ])(
    'in %s has the decimals of its currency, each line rounded before the sum',
    async (currency, total, none, third) => {
      const shop = await service.newTenant('sales')
      await service.sql`update app.tenants set currency = ${currency} where id = ${shop.id}`
      const style = await newStyle(shop.id, `AMOUNT-${currency}`)
      const ask = async (route: string, body?: object) =>
        (await service.request(route, { token: shop.sales.token, ...(body === undefined ? {} : { body }) })).body
      const { id, total: empty } = (await createDeal(shop)).body
      expect(empty).toBe(none)
      const lines = [
        { style_id: style, quantity: 3, unit_price: '150.5' },
        { style_id: style, quantity: 1, unit_price: '0.4' },
      ]
      expect((await ask(`PUT /v1/deals/${id}/lines`, { lines })).total).toBe(total)
      expect((await ask(`GET /v1/deals/${id}`)).total).toBe(total)
      expect((await ask('GET /v1/deals')).data[0].total).toBe(total)
      await ask(`PUT /v1/price-breaks/${style}`, { breaks: [{ min_quantity: 1, unit_price: '0.125' }] })
      expect((await ask(`GET /v1/price-breaks/${style}/quote?quantity=3`)).total).toBe(third)
    },
  )
})

describe('a constraint', () => {
  const ZERO = '00000000-0000-0000-0000-000000000000'
  const LINE = (values: string) =>
    `insert into app.deal_lines (tenant_id, deal_id, position, style_id, style_scope, quantity, unit_price, price_source, currency)
     select ${values}, d.currency from app.deals d, app.styles s where d.tenant_id = :own and s.id = :foreign limit 1`
  const BREAK = (values: string) =>
    `insert into app.price_breaks (tenant_id, style_id, style_scope, min_quantity, unit_price) values (${values})`

  it.each([
    [
      'deals_number',
      'app.deals',
      `update app.deals set number = (select min(number) from app.deals where tenant_id = :own) where tenant_id = :own`,
    ],
    ['deals_currency', 'app.deals', `update app.tenants set currency = 'EUR' where id = :own`],
    [
      'deals_currency',
      'app.deals',
      `insert into app.deals (tenant_id, customer_name, currency) values (:own, 'A', 'EUR')`,
    ],
    ['price_breaks_style', 'app.price_breaks', BREAK(':other, :style, :zero, 1, 1')],
    ['price_breaks_style_of_tenant', 'app.price_breaks', BREAK(':other, :style, :own, 1, 1')],
    ['price_breaks_unit_price_check', 'app.price_breaks', BREAK(`:own, :style, :own, 7, 'NaN'`)],
    ['deal_lines_deal', 'app.deal_lines', LINE(`:other, d.id, 1, :platform, :zero, 1, 1, 'manual'`)],
    ['deal_lines_style', 'app.deal_lines', LINE(`:own, d.id, 1, :style, :zero, 1, 1, 'manual'`)],
    ['deal_lines_style_of_tenant', 'app.deal_lines', LINE(`:own, d.id, 1, s.id, s.scope, 1, 1, 'manual'`)],
    ['deal_lines_unit_price_check', 'app.deal_lines', LINE(`:own, d.id, 1, :style, :own, 1, '-0.5', 'manual'`)],
  ])('%s of %s is needed against: %s', async (name, table, attack) => {
    await createDeal(tenant)
    await createDeal(tenant)
    const foreign = await newStyle(other.id, `F-${attack.length}-${name}`.slice(0, 40))
    const [platform] = await service.sql<{ id: string }[]>`select id from app.styles where tenant_id is null limit 1`
    await rehearse(async (tx) => {
      await tx`delete from app.deal_lines`
      await tx`delete from app.price_breaks`
      const ids = { own: tenant.id, other: other.id, zero: ZERO, style: styles[0], foreign, platform: platform?.id }
      const text = attack.replace(/:(\w+)/g, (_, id: keyof typeof ids) => `'${ids[id]}'`)
      const attempt = () => tx.savepoint((point) => point.unsafe(text))
      await expect(attempt()).rejects.toMatchObject({ constraint_name: name })
      await tx.unsafe(`alter table ${table} drop constraint ${name}`)
      await expect(attempt()).resolves.toBeDefined()
    })
  })

  it('computes the total of a line, which nobody can write', async () => {
    const { body: deal } = await createDeal(tenant)
    const write = service.sql`
      insert into app.deal_lines (tenant_id, deal_id, position, style_id, style_scope, quantity, unit_price, price_source, currency, total)
      values (${tenant.id}, ${deal.id}, 1, ${styles[0] ?? ''}, ${tenant.id}, 1, 1, 'manual', 'USD', 5)`
    await expect(write).rejects.toMatchObject({ code: '428C9' })
  })
})
