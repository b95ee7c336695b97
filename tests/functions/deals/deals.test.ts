import { beforeAll, describe, expect, it } from 'vitest'
import type { TestTenant } from '#tests/support/minted-session.ts'
import { PROBLEM_BASE_URL } from '#tests/support/problem-base-url.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()
type Role = 'admin' | 'sales' | 'account' | 'production'
let tenant: TestTenant<Role>
/** A style of the platform, and one of the tenant's own. */
let styles: { readonly platform: string; readonly own: string }

const newStyle = async (tenantId: string | null, number: string): Promise<string> => {
  const [row] = await service.sql<{ id: string }[]>`
    insert into app.styles (tenant_id, style_number, name, brand, category)
    values (${tenantId}, ${number}, 'Tee', 'Brand', 'Tees') returning id`
  return row?.id ?? ''
}
const request = (route: string, { as = 'sales', body }: { as?: Role; body?: unknown } = {}) =>
  service.request(route, { token: tenant[as].token, ...(body === undefined ? {} : { body }) })
const putBreaks = (style: string, breaks: object[], as: Role = 'sales') =>
  request(`PUT /v1/price-breaks/${style}`, { as, body: { breaks } })
const newDeal = async (name = 'Riverside School') =>
  (await request('POST /v1/deals', { body: { customer_name: name } })).body
const putLines = (deal: { id: string }, lines: object[], as: Role = 'sales') =>
  request(`PUT /v1/deals/${deal.id}/lines`, { as, body: { lines } })
const pointers = ({ status, body }: { status: number; body: any }) => [
  status,
  ...(body.errors ?? []).map(({ pointer }: { pointer: string }) => pointer),
]
const LOCKED = `${PROBLEM_BASE_URL}/deal-locked`

beforeAll(async () => {
  tenant = await service.newTenant('admin', 'sales', 'account', 'production')
  styles = { platform: await newStyle(null, 'D-1'), own: await newStyle(tenant.id, 'D-1') }
  for (const id of [styles.platform, styles.own])
    await putBreaks(id, [
      { min_quantity: 48, unit_price: '7.99' },
      { min_quantity: 12, unit_price: '9.7501' },
    ])
})

describe('the price breaks of a style', () => {
  it('are replaced as a whole, and read by ascending quantity', async () => {
    const style = await newStyle(tenant.id, 'B-1')
    const read = () => request(`GET /v1/price-breaks/${style}`)
    expect((await read()).body).toEqual({ style_id: style, breaks: [] })
    const breaks = [
      { min_quantity: 1, unit_price: '10.0000' },
      { min_quantity: 12, unit_price: '9.5000' },
    ]
    const stored = await putBreaks(style, [
      { min_quantity: 12, unit_price: '9.5' },
      { min_quantity: 1, unit_price: '10' },
    ])
    expect(stored.body).toEqual({ style_id: style, breaks })
    expect((await read()).body).toEqual(stored.body)
    await putBreaks(style, [{ min_quantity: 5, unit_price: '0' }])
    expect((await read()).body.breaks).toEqual([{ min_quantity: 5, unit_price: '0.0000' }])
    expect((await putBreaks(style, [])).body.breaks).toEqual([])
  })

  it.each([
    [['1.00000'], '#/breaks/0/unit_price'],
    [['12345678901'], '#/breaks/0/unit_price'],
    [['-1'], '#/breaks/0/unit_price'],
    [['1e3'], '#/breaks/0/unit_price'],
    [['NaN'], '#/breaks/0/unit_price'],
    [['1,5'], '#/breaks/0/unit_price'],
    [[' 1'], '#/breaks/0/unit_price'],
    [['1.'], '#/breaks/0/unit_price'],
    [[12.5], '#/breaks/0/unit_price'],
    [['1', 0], '#/breaks/0/min_quantity'],
    [['1', 1.5], '#/breaks/0/min_quantity'],
    [['1', 1_000_001], '#/breaks/0/min_quantity'],
    [['1', '12'], '#/breaks/0/min_quantity'],
  ])('reject the price and quantity %j', async ([price, quantity = 12], pointer) => {
    expect(pointers(await putBreaks(styles.own, [{ min_quantity: quantity, unit_price: price }]))).toEqual([
      422,
      pointer,
    ])
  })

  it('reject two breaks of one quantity, and more than 50', async () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ min_quantity: index + 1, unit_price: '1' }))
    expect(pointers(await putBreaks(styles.own, [...many(2), ...many(1)]))).toEqual([422, '#/breaks/2'])
    expect(pointers(await putBreaks(styles.own, many(51)))).toEqual([422, '#/breaks'])
    expect((await putBreaks(await newStyle(tenant.id, 'B-2'), many(50))).body.breaks).toHaveLength(50)
  })

  it('stay whole when two replacements are concurrent', async () => {
    const style = await newStyle(tenant.id, 'B-3')
    const lists = [1, 2, 3, 4].map((price) =>
      [5, 10, 5 + price].map((quantity) => ({ min_quantity: quantity + 1, unit_price: `${price}.0000` })),
    )
    const answers = await Promise.all(lists.map((breaks) => putBreaks(style, breaks)))
    expect(answers.map(({ status }) => status)).toEqual(lists.map(() => 200))
    const { body } = await request(`GET /v1/price-breaks/${style}`)
    expect(new Set(body.breaks.map((each: { unit_price: string }) => each.unit_price)).size).toBe(1)
    expect(body.breaks).toHaveLength(3)
  })

  it.each([
    [11, { min_quantity: null, unit_price: null, total: null }],
    [12, { min_quantity: 12, unit_price: '9.7501', total: '117.00' }],
    [47, { min_quantity: 12, unit_price: '9.7501', total: '458.25' }],
    [48, { min_quantity: 48, unit_price: '7.9900', total: '383.52' }],
    [1_000_000, { min_quantity: 48, unit_price: '7.9900', total: '7990000.00' }],
  ])('quote %i pieces by the greatest break that they reach', async (quantity, price) => {
    const { body } = await request(`GET /v1/price-breaks/${styles.platform}/quote?quantity=${quantity}`)
    expect(body).toEqual({ style_id: styles.platform, quantity, ...price })
  })

  it.each(['', '?quantity=', '?quantity=0', '?quantity=1000001', '?quantity=1.5', '?quantity=012', '?quantity=1e3'])(
    'quote no quantity "%s"',
    async (query) => {
      expect(pointers(await request(`GET /v1/price-breaks/${styles.own}/quote${query}`))).toEqual([422, '#/quantity'])
    },
  )
})

describe('a deal', () => {
  it('begins as a draft in the currency of the tenant, without lines', async () => {
    const deal = await newDeal('  Harbor Brewing ')
    expect(deal).toMatchObject({
      customer_name: 'Harbor Brewing',
      status: 'draft',
      currency: 'USD',
      created_by: tenant.sales.userId,
      lines: [],
      total: '0.00',
    })
    expect((await request(`GET /v1/deals/${deal.id}`)).body).toEqual(deal)
  })

  it('prices a line by the quantity of its style in all lines, and shows the lines in the order sent', async () => {
    const deal = await newDeal()
    const { body } = await putLines(deal, [
      { style_id: styles.platform, color: 'Navy', size_id: 4, quantity: 24 },
      { style_id: styles.own, quantity: 12 },
      { style_id: styles.platform, size_id: 5, quantity: 23 },
      { style_id: styles.platform.toUpperCase(), quantity: 1, unit_price: '0.005' },
    ])
    const style = { id: styles.platform, style_number: 'D-1', name: 'Tee' }
    expect(body.lines).toMatchObject([
      {
        style,
        color: 'Navy',
        size: { id: 4, code: 'L' },
        quantity: 24,
        unit_price: '7.9900',
        price_source: 'break',
        total: '191.76',
      },
      {
        style: { id: styles.own },
        color: null,
        size: null,
        unit_price: '9.7501',
        price_source: 'break',
        total: '117.00',
      },
      { style, size: { id: 5, code: 'XL' }, unit_price: '7.9900', total: '183.77' },
      { style, unit_price: '0.0050', price_source: 'manual', total: '0.01' },
    ])
    expect(body.total).toBe('492.54')
    expect((await request(`GET /v1/deals/${deal.id}`)).body).toEqual(body)
    expect((await request('GET /v1/deals?limit=1')).body.data).toMatchObject([{ id: deal.id, total: '492.54' }])
    expect((await putLines(deal, [])).body).toMatchObject({ lines: [], total: '0.00' })
  })

  it('keeps the price of a line when the breaks change later', async () => {
    const style = await newStyle(tenant.id, 'B-4')
    await putBreaks(style, [{ min_quantity: 1, unit_price: '2' }])
    const deal = await newDeal()
    await putLines(deal, [{ style_id: style, quantity: 3 }])
    await putBreaks(style, [{ min_quantity: 1, unit_price: '5' }])
    expect((await request(`GET /v1/deals/${deal.id}`)).body.total).toBe('6.00')
  })

  it('shows no key of a price to a role that may not read prices', async () => {
    const deal = await newDeal()
    const { body: priced } = await putLines(deal, [{ style_id: styles.own, quantity: 12 }])
    const { total, lines, ...rest } = priced
    const [{ unit_price: _, price_source: __, total: ___, ...line }] = lines
    const { body } = await request(`GET /v1/deals/${deal.id}`, { as: 'production' })
    expect(body).toEqual({ ...rest, lines: [line] })
    const list = await request('GET /v1/deals', { as: 'production' })
    for (const each of list.body.data) expect(Object.keys(each)).not.toContain('total')
    const { text } = await request('GET /v1/audit-log', { as: 'admin' })
    expect(text).toContain('deal.lines_replaced')
    expect(text).not.toMatch(new RegExp(`${total}|9\\.7501|unit_price`))
  })

  it('takes a manual price only from a role that may set prices', async () => {
    const deal = await newDeal()
    const line = { style_id: styles.own, quantity: 12 }
    expect((await putLines(deal, [{ ...line, unit_price: '1' }], 'account')).status).toBe(403)
    expect((await putLines(deal, [{ ...line, unit_price: null }], 'account')).body.total).toBe('117.00')
    expect((await putLines(deal, [{ ...line, unit_price: '1' }], 'sales')).body.total).toBe('12.00')
  })

  it('rejects lines that have no style, no size or no price, and names each', async () => {
    const deal = await newDeal()
    const foreign = await newStyle((await service.newTenant()).id, 'F-1')
    const good = { style_id: styles.own, quantity: 12 }
    expect(
      pointers(
        await putLines(deal, [
          good,
          { style_id: styles.platform, quantity: 11 },
          { style_id: foreign, quantity: 1, unit_price: '1' },
          { ...good, size_id: 99 },
          { style_id: deal.id, quantity: 1 },
        ]),
      ),
    ).toEqual([422, '#/lines/1', '#/lines/2', '#/lines/3', '#/lines/4'])
    expect(pointers(await putLines(deal, [{ ...good, quantity: 1_000_001 }]))).toEqual([422, '#/lines/0/quantity'])
    expect(pointers(await putLines(deal, [{ ...good, size_id: 2 ** 40 }]))).toEqual([422, '#/lines/0/size_id'])
    expect(
      pointers(
        await putLines(
          deal,
          Array.from({ length: 201 }, () => good),
        ),
      ),
    ).toEqual([422, '#/lines'])
    expect(
      (
        await putLines(
          deal,
          Array.from({ length: 200 }, () => good),
        )
      ).body.lines,
    ).toHaveLength(200)
  })

  it('rejects a total that is too large, of a line or of all lines', async () => {
    const deal = await newDeal()
    const line = (quantity: number, price: string) => ({ style_id: styles.own, quantity, unit_price: price })
    const largest = line(100, '9999999999.9999')
    expect((await putLines(deal, [largest])).body.total).toBe('999999999999.99')
    expect(pointers(await putLines(deal, [line(1, '1'), line(101, '9999999999.9999')]))).toEqual([422, '#/lines/1'])
    expect(pointers(await putLines(deal, [largest, line(1, '0.01')]))).toEqual([422, '#/lines'])
    expect((await request(`GET /v1/deals/${deal.id}`)).body.total).toBe('999999999999.99')
  })

  it.each([
    ['draft', 'won', 409],
    ['draft', 'lost', 409],
    ['draft', 'draft', 200],
    ['quoted', 'draft', 200],
    ['quoted', 'quoted', 200],
    ['quoted', 'won', 200],
    ['quoted', 'lost', 200],
    ['won', 'won', 200],
    ['won', 'quoted', 409],
    ['won', 'draft', 409],
    ['won', 'lost', 409],
    ['lost', 'quoted', 409],
    ['lost', 'won', 409],
  ])('that is %s may become %s: %i', async (from, to, status) => {
    const deal = await newDeal()
    const patch = (body: object) => request(`PATCH /v1/deals/${deal.id}`, { body })
    if (from !== 'draft') await patch({ status: 'quoted' })
    if (from !== 'draft' && from !== 'quoted') await patch({ status: from })
    const before = (await request(`GET /v1/deals/${deal.id}`)).body
    expect(before.status).toBe(from)
    const answer = await patch({ status: to })
    expect([answer.status, answer.body.type]).toEqual([status, status === 409 ? LOCKED : undefined])
    const after = (await request(`GET /v1/deals/${deal.id}`)).body
    if (from === to || status === 409) expect(after).toEqual(before)
    else expect(after).toEqual({ ...before, status: to, updated_at: expect.not.stringMatching(before.updated_at) })
    // The customer may change while the deal is open, the lines while it is a draft.
    const open = after.status === 'draft' || after.status === 'quoted'
    expect((await patch({ customer_name: 'Another' })).status).toBe(open ? 200 : 409)
    expect((await patch({ customer_name: open ? 'Another' : before.customer_name })).status).toBe(200)
    expect((await putLines(deal, [])).status).toBe(after.status === 'draft' ? 200 : 409)
  })

  it('is found by a part of the customer’s name, or by its exact number', async () => {
    const { sales } = await service.newTenant('sales')
    const { token } = sales
    const names = ['Zoë’s 2 CAFÉS', '100% Cotton_Co', ...Array.from({ length: 10 }, () => 'Harbor')]
    for (const customer_name of names) await service.request('POST /v1/deals', { token, body: { customer_name } })
    const numbers = async (query: string) =>
      (await service.request(`GET /v1/deals?${query}`, { token })).body.data.map(
        (deal: { number: number }) => deal.number,
      )
    const search = (q: string) => numbers(`q=${encodeURIComponent(q)}`)
    expect(await search(' zOË')).toEqual([1])
    expect(await search('cafés')).toEqual([1])
    expect(await search('%')).toEqual([2])
    expect(await search('n_c')).toEqual([2])
    expect(await search('2')).toEqual([2, 1])
    expect(await search('10')).toEqual([10, 2])
    expect(await search('1')).toEqual([2, 1])
    expect(await search('010')).toEqual([])
    expect(await search('#10')).toEqual([])
    expect(await numbers('q=harbor&limit=3')).toEqual([12, 11, 10])
    await service.sql`update app.deals set status = 'won' where tenant_id = (select tenant_id from app.sessions where id = ${sales.id}) and number < 3`
    expect(await numbers('status=won')).toEqual([2, 1])
    expect(await numbers('status=won,lost&q=zoë')).toEqual([1])
    expect(pointers(await service.request('GET /v1/deals?status=open', { token }))).toEqual([422, '#/status/0'])
  })
})
