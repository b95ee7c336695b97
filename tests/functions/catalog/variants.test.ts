import { beforeAll, describe, expect, it } from 'vitest'
import { expectProblem } from '#tests/support/expect-answer.ts'
import type { Answer } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const PLATFORM = '00000000-0000-0000-0000-000000000000'

const service = useService()
let token: string
let own: string
let other: string
/** A style of the platform, of the acting tenant, and of another. */
let styles: { platform: string; own: string; other: string }

async function newStyle(tenant: string | null, number: string): Promise<string> {
  const [row] = await service.sql`
    insert into app.styles (tenant_id, style_number, name, brand, category)
    values (${tenant}, ${number}, 'Cut', 'Loom', 'Samples') returning id`
  return row?.['id']
}

/** Adds a variant as a sync would, with a SKU and, for a tenant, a price. */
async function newVariant(row: {
  tenant: string | null
  style: string
  styleTenant?: string | null
  color?: string | null
  size?: string
  sku?: string
  price?: string
}): Promise<string> {
  const { tenant, style, styleTenant = tenant, color = 'Red', size = 'M', sku, price } = row
  const [variant] = await service.sql`
    insert into app.variants (tenant_id, style_id, style_scope, color, size_id, vendor_size)
    values (${tenant}, ${style}, ${styleTenant ?? PLATFORM}, ${color}, app.resolve_size(${size}), ${size}) returning id, scope`
  const { id, scope } = { ...variant }
  if (sku !== undefined) {
    await service.sql`
      insert into app.variant_skus (tenant_id, variant_id, variant_scope, vendor, sku)
      values (${tenant}, ${id}, ${scope}, 'sanmar', ${sku})`
  }
  if (price !== undefined) {
    await service.sql`
      insert into app.vendor_prices (tenant_id, variant_id, variant_scope, vendor, unit_price, currency, synced_at)
      values (${tenant}, ${id}, ${scope}, 'sanmar', ${price}::text::numeric, 'USD', now())`
  }
  return id
}

beforeAll(async () => {
  const [first, second] = [await service.newTenant('sales', 'viewer'), await service.newTenant('sales')]
  token = first.sales.token
  own = first.id
  other = second.id
  styles = {
    platform: await newStyle(null, 'P-1'),
    own: await newStyle(own, 'O-1'),
    other: await newStyle(other, 'O-1'),
  }
})

const get = (path: string): Promise<Answer> => service.request(`GET /v1/catalog/${path}`, { token })

async function all(path: string, limit: number): Promise<any[]> {
  const seen: unknown[] = []
  for (let cursor = ''; ; ) {
    const { status, body } = await get(`${path}${path.includes('?') ? '&' : '?'}limit=${limit}${cursor}`)
    expect(status).toBe(200)
    seen.push(...body.data)
    if (body.next_cursor === null) return seen
    cursor = `&cursor=${body.next_cursor}`
  }
}

describe('GET /v1/catalog/sizes', () => {
  const resolve = async (alias: string) =>
    (await get(`sizes/resolve?${new URLSearchParams({ alias }).toString()}`)).body.size

  it('resolves every spelling of a size to one id, in any case and with blanks around it', async () => {
    for (const alias of ['2XL', 'XXL', '2X', 'XX-LARGE', 'xxl', 'Xx-Large', ' 2xl ', '\t2X\n'])
      expect(await resolve(alias), alias).toEqual({ id: 6, code: '2XL' })
    expect((await get('sizes/resolve?alias=one+size')).body).toEqual({
      alias: 'one size',
      size: { id: 11, code: 'OSFA' },
    })
  })

  it('resolves an unknown size to null', async () => {
    for (const alias of ['', ' ', 'XXL.', 'X XL', '2 XL', '7XL', 'XXLL', '%'])
      expect(await resolve(alias), alias).toBeNull()
  })

  it('lists all sizes with their aliases, and each alias and code resolves to its size', async () => {
    const { body } = await get('sizes')
    const { data }: { data: { id: number; code: string; aliases: string[] }[] } = body
    expect(data.map(({ code }) => code).join(' ')).toBe('XS S M L XL 2XL 3XL 4XL 5XL 6XL OSFA')
    expect(data.find(({ code }) => code === '2XL')?.aliases).toEqual(['2X', '2XL', 'XX-LARGE', 'XXL', 'XXLARGE'])
    for (const { id, code, aliases } of data)
      for (const alias of [code, ...aliases]) expect(await resolve(alias), alias).toEqual({ id, code })
  })
})

describe('GET /v1/catalog/styles/{id}', () => {
  it('returns a style of the platform or of the tenant, and finds none of another tenant', async () => {
    for (const id of [styles.platform, styles.own]) expect((await get(`styles/${id}`)).body).toMatchObject({ id })
    for (const path of [`styles/${styles.other}`, `styles/${styles.other}/variants`])
      expect((await get(path)).status).toBe(404)
  })
})

describe('the variants and prices of a style', () => {
  beforeAll(async () => {
    await newVariant({ tenant: null, style: styles.platform, color: 'Ash', size: 'M', sku: 'platform' })
    const rows = [
      { color: 'Red', size: 'ONE-OFF', sku: 'r-odd' },
      { color: 'Red', size: 'XXL', sku: 'r-2xl', price: '4.1' },
      { color: 'Red', size: 'S', sku: 'r-s', price: '3.12345' },
      { color: 'Ash', size: 'L', sku: 'a-l', price: '0' },
      { color: null, size: 'S', sku: 'n-s' },
    ]
    for (const row of rows) await newVariant({ tenant: own, style: styles.platform, styleTenant: null, ...row })
    await newVariant({ tenant: other, style: styles.platform, styleTenant: null, sku: 'theirs', price: '1' })
  })

  it('lists the platform’s variants and the tenant’s own by color and size, sizes that do not resolve last', async () => {
    const variants = await all(`styles/${styles.platform}/variants`, 100)
    expect(
      variants.map(({ color, size, vendor_size, skus }) => [color, size?.code ?? null, vendor_size, skus[0]?.sku]),
    ).toEqual([
      [null, 'S', 'S', 'n-s'],
      ['Ash', 'M', 'M', 'platform'],
      ['Ash', 'L', 'L', 'a-l'],
      ['Red', 'S', 'S', 'r-s'],
      ['Red', '2XL', 'XXL', 'r-2xl'],
      ['Red', null, 'ONE-OFF', 'r-odd'],
    ])
    expect(await all(`styles/${styles.platform}/variants`, 1)).toEqual(variants)
  })

  it('lists the tenant’s prices as text with four decimals, rounded half away from zero', async () => {
    const path = `prices?style_id=${styles.platform}`
    const prices = await all(path, 100)
    expect(
      prices.map(({ unit_price: price, currency, vendor }) => `${price} ${currency} ${vendor}`).toSorted(),
    ).toEqual(['0.0000 USD sanmar', '3.1235 USD sanmar', '4.1000 USD sanmar'])
    expect(await all(path, 1)).toEqual(prices)
    expectProblem(await get('prices'), 'validation-failed')
  })
})

describe('the database', () => {
  /** Each rule with a row that breaks it. `@` marks the tenants, styles and variants of the set-up. */
  const RULES: readonly (readonly [title: string, table: string, rule: string, statement: string])[] = [
    ...['own', 'platform'].flatMap((whose) => {
      const tenant = whose === 'own' ? '@own' : 'null'
      return [
        [
          `one SKU of a vendor on a variant (${whose})`,
          'app.variant_skus',
          'variant_skus_one_per_vendor',
          `insert into app.variant_skus (tenant_id, variant_id, variant_scope, vendor, sku)
           select ${tenant}, variant_id, variant_scope, vendor, 'another' from app.variant_skus where sku = '${whose} sku'`,
        ],
        [
          `one variant for a SKU of a vendor (${whose})`,
          'app.variant_skus',
          'variant_skus_one_variant',
          `insert into app.variant_skus (tenant_id, variant_id, variant_scope, vendor, sku)
           select ${tenant}, id, scope, 'sanmar', '${whose} sku' from app.variants where vendor_size = '${whose} odd'`,
        ],
        [
          `one variant of a color and size (${whose})`,
          'app.variants',
          'variants_once',
          `insert into app.variants (tenant_id, style_id, style_scope, color, size_id, vendor_size)
           select tenant_id, style_id, style_scope, color, size_id, 'XX-LARGE' from app.variants v
            where id = (select variant_id from app.variant_skus where sku = '${whose} sku')`,
        ],
      ] as const
    }),
    [
      'no variant of another tenant’s style',
      'app.variants',
      'variants_style_of_tenant',
      'insert into app.variants (tenant_id, style_id, style_scope) values (@own, @otherStyle, @other)',
    ],
    [
      'no variant of another tenant’s style under the own scope',
      'app.variants',
      'variants_style',
      'insert into app.variants (tenant_id, style_id, style_scope) values (@own, @otherStyle, @own)',
    ],
    [
      'no variant of the platform of a tenant’s style',
      'app.variants',
      'variants_style_of_tenant',
      'insert into app.variants (tenant_id, style_id, style_scope) values (null, @ownStyle, @own)',
    ],
    ...(['variant_skus', 'vendor_prices'] as const).map((table) => {
      const [names, values] =
        table === 'variant_skus' ? ['sku', `'new'`] : ['unit_price, currency, synced_at', `1, 'USD', now()`]
      return [
        `no row of ${table} on another tenant’s variant`,
        `app.${table}`,
        `${table}_variant_of_tenant`,
        `insert into app.${table} (tenant_id, variant_id, variant_scope, vendor, ${names})
         select @own, variant_id, variant_scope, 'ss-activewear', ${values} from app.variant_skus where sku = 'other sku'`,
      ] as const
    }),
    [
      'no price that is not a number',
      'app.vendor_prices',
      'vendor_prices_unit_price_check',
      `insert into app.vendor_prices (tenant_id, variant_id, variant_scope, vendor, unit_price, currency, synced_at)
       select @own, variant_id, variant_scope, 'ss-activewear', 'NaN', 'USD', now() from app.variant_skus where sku = 'own sku'`,
    ],
  ]

  beforeAll(async () => {
    for (const [whose, tenant, style] of [
      ['own', own, styles.own],
      ['other', other, styles.other],
      ['platform', null, styles.platform],
    ] as const) {
      await newVariant({ tenant, style, color: 'Teal', size: '2XL', sku: `${whose} sku` })
      await newVariant({ tenant, style, color: 'Teal', size: `${whose} odd` })
    }
  })

  it.each(RULES)('keeps: %s', async (_title, table, rule, statement) => {
    const ids = { otherStyle: styles.other, ownStyle: styles.own, other, own }
    const text = statement.replaceAll(/@(\w+)/g, (_, name: keyof typeof ids) => `'${ids[name]}'`)
    await expect(service.sql.unsafe(text)).rejects.toMatchObject({ constraint_name: rule })
    // Only this rule refuses the row.
    const undone = new Error('rolled back')
    const without = service.sql.begin(async (tx) => {
      await tx.unsafe(`alter table ${table} drop constraint ${rule} cascade`)
      expect((await tx.unsafe(text)).count).toBe(1)
      throw undone
    })
    await expect(without).rejects.toBe(undone)
  })
})
