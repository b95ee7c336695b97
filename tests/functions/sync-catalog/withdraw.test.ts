import { beforeEach, describe, expect, it } from 'vitest'
import type { LocalProduct } from '#infra/local/vendors/products.ts'
import { type Listed, type Shop, TIME, useCatalogSync } from '#tests/support/catalog-sync.ts'

// Three pages.
const PRODUCTS = 41
/** A product with a style that the tenant alone has, of the second page. */
const OWN = 35

const everything: Listed = (product) => product
let listed: Listed = everything
const sync = await useCatalogSync(PRODUCTS, (product, vendor) => listed(product, vendor))
const { service, faults, newShop, startedBy, runOf, work, catalogOf, expireLeases } = sync

const without =
  (gone: (product: LocalProduct, index: number) => boolean): Listed =>
  (product) =>
    gone(product, indexOf(product)) ? null : product
const indexOf = ({ skus }: LocalProduct): number => Number(skus[0]?.sku.slice(1, 6))
const only =
  (product: number, change: (product: LocalProduct) => LocalProduct | null): Listed =>
  (each) =>
    indexOf(each) === product ? change(each) : each

beforeEach(() => {
  listed = everything
})

async function synced(shop: Shop, vendor?: string): Promise<any> {
  const run = await startedBy(shop, vendor)
  await work()
  return runOf(shop, run)
}

const get = async ({ token }: Shop, path: string) => service.request(`GET /v1/${path}`, { token })

/** Returns the style of a product as the tenant's database has it. */
async function styleOf(shop: Shop, index: number) {
  const [style] = await service.sql`
    select s.id, s.style_number from app.variant_skus k
      join app.variants v on v.id = k.variant_id join app.styles s on s.id = v.style_id
     where k.tenant_id = ${shop.id} and k.vendor = 'ss-activewear' and k.sku like ${`B${String(index).padStart(5, '0')}%`} limit 1`
  return { id: String(style?.['id']), number: String(style?.['style_number']) }
}

const found = async (shop: Shop, { id, number }: { id: string; number: string }): Promise<boolean> =>
  (await get(shop, `catalog/styles?q=${number}`)).body.data.some((style: { id: string }) => style.id === id)
const offered = async (shop: Shop, id: string): Promise<any[]> =>
  (await get(shop, `catalog/styles/${id}/variants?limit=100`)).body.data
const prices = async (shop: Shop, id: string): Promise<any[]> =>
  (await get(shop, `catalog/prices?style_id=${id}&limit=100`)).body.data

async function newDeal({ token }: Shop): Promise<string> {
  return (await service.request('POST /v1/deals', { token, body: { customer_name: 'Ann' } })).body.id
}
const put = ({ token }: Shop, deal: string, styles: readonly string[]) =>
  service.request(`PUT /v1/deals/${deal}/lines`, {
    token,
    body: { lines: styles.map((style_id) => ({ style_id, quantity: 2, unit_price: '3' })) },
  })

describe('a complete sync run', () => {
  it('withdraws a style that the vendor dropped, and offers it again when it is listed again', async () => {
    const shop = await newShop()
    await synced(shop)
    const style = await styleOf(shop, OWN)
    const [variants, cost] = [await offered(shop, style.id), await prices(shop, style.id)]
    const deal = await newDeal(shop)
    expect((await put(shop, deal, [style.id])).status).toBe(200)
    listed = only(OWN, () => null)
    const skus = variants.flatMap((variant) => variant.skus).length
    expect(await synced(shop)).toMatchObject({ status: 'succeeded', withdrawn: skus, withheld: 0 })
    expect([await found(shop, style), await offered(shop, style.id), await prices(shop, style.id)]).toEqual([
      false,
      [],
      [],
    ])
    expect((await get(shop, `price-breaks/${style.id}/quote?quantity=2`)).status).toBe(404)
    // The deal that has the style keeps it; no other deal gets it.
    expect((await get(shop, `deals/${deal}`)).body.lines[0].style.id).toBe(style.id)
    expect((await put(shop, deal, [style.id, style.id])).status).toBe(200)
    const refused = await put(shop, await newDeal(shop), [style.id])
    expect([refused.status, refused.body.errors]).toEqual([
      422,
      [expect.objectContaining({ pointer: '#/lines/0', code: 'nonexistent' })],
    ])
    expect(await synced(shop)).toMatchObject({ withdrawn: 0 })
    listed = everything
    expect(await synced(shop)).toMatchObject({ withdrawn: 0 })
    expect(await found(shop, style)).toBe(true)
    expect(await offered(shop, style.id)).toEqual(variants)
    const amounts = (list: { variant_id: string; unit_price: string }[]) =>
      list.map(({ variant_id: variant, unit_price: price }) => `${variant} ${price}`)
    expect(amounts(await prices(shop, style.id))).toEqual(amounts(cost))
  })

  it('withdraws a SKU alone, with its price and its variant, also of a style of the platform', async () => {
    const shop = await newShop()
    await synced(shop)
    for (const product of [3, OWN]) {
      const style = await styleOf(shop, product)
      const before = await offered(shop, style.id)
      listed = only(product, (each) => ({ ...each, skus: each.skus.slice(1) }))
      expect(await synced(shop)).toMatchObject({ withdrawn: 1 })
      const sku = `B${String(product).padStart(5, '0')}00`
      const after = await offered(shop, style.id)
      expect(after).toEqual(before.filter(({ skus }) => skus[0].sku !== sku))
      expect((await prices(shop, style.id)).length).toBe(after.length)
      expect(await found(shop, style)).toBe(true)
      listed = everything
      await synced(shop)
    }
  })

  it('withdraws a price that the vendor names no more, and keeps the SKU', async () => {
    const shop = await newShop()
    await synced(shop)
    const style = await styleOf(shop, OWN)
    const [before, cost] = [await offered(shop, style.id), await prices(shop, style.id)]
    listed = only(OWN, (each) => ({
      ...each,
      skus: each.skus.map((sku, at) => (at === 2 ? { ...sku, price: null } : sku)),
    }))
    expect(await synced(shop)).toMatchObject({ withdrawn: 1 })
    expect(await offered(shop, style.id)).toEqual(before)
    expect((await prices(shop, style.id)).length).toBe(cost.length - 1)
  })

  it('counts what it changed: new SKUs, and prices that rose and fell', async () => {
    const shop = await newShop()
    listed = only(OWN, (each) => ({ ...each, skus: each.skus.slice(3) }))
    const first = await synced(shop)
    expect(first).toMatchObject({ added: (await catalogOf(shop)).ss.length, dearer: 0, cheaper: 0, withdrawn: 0 })
    expect([first.products_read, first.products_total]).toEqual([PRODUCTS, PRODUCTS])
    const PRICES = ['99.99', '0.0100', '98']
    listed = only(OWN, (each) => ({
      ...each,
      // Three new, two dearer, one cheaper, and one that is the same with more digits.
      skus: each.skus.map((sku, at) => {
        const price = at >= 3 && at < 6 ? PRICES[at - 3] : at === 6 ? `${sku.price}00` : sku.price
        return { ...sku, price: price ?? null }
      }),
    }))
    expect(await synced(shop)).toMatchObject({ added: 3, dearer: 2, cheaper: 1, withdrawn: 0 })
    expect(await synced(shop)).toMatchObject({ added: 0, dearer: 0, cheaper: 0, withdrawn: 0 })
    listed = everything
    expect(await synced(shop)).toMatchObject({ added: 0, dearer: 1, cheaper: 2 })
  })

  it('withdraws of a style only what its own vendor dropped, and only in its own tenant', async () => {
    const [shop, other] = [await newShop('sanmar', 'ss-activewear'), await newShop()]
    for (const vendor of ['sanmar', 'ss-activewear']) await synced(shop, vendor)
    await synced(other)
    const [kept, theirs] = [(await catalogOf(shop)).sanmar, (await catalogOf(other)).ss]
    // The tenant's own style that both vendors list.
    const { id } = await styleOf(shop, OWN)
    await service.sql`
      update app.styles set vendors = vendors || array['sanmar'], listed = listed || '{"sanmar": "2026-01-01T00:00:00Z"}' where id = ${id}`
    listed = without((_, index) => index === OWN || index === 2)
    expect((await synced(shop)).withdrawn).toBeGreaterThan(20)
    expect((await catalogOf(shop)).sanmar).toEqual(kept)
    expect((await catalogOf(other)).ss).toEqual(theirs)
    const { body: style } = await get(shop, `catalog/styles/${id}`)
    expect(style.vendors).toEqual(['sanmar'])
    expect(await found(shop, { id, number: style.style_number })).toBe(true)
  })

  it.each<[title: string, listed: Listed]>([
    ['lists nothing', () => null],
    ['lists less than half', without((_, index) => index % 5 > 1)],
    ['names almost no price', (each) => ({ ...each, skus: each.skus.map((sku) => ({ ...sku, price: null })) })],
  ])('withdraws nothing, and says how many it kept, when the vendor suddenly %s', async (_, broken) => {
    const shop = await newShop()
    await synced(shop)
    const before = (await catalogOf(shop)).ss
    listed = broken
    const run = await synced(shop)
    expect(run).toMatchObject({ status: 'succeeded', withdrawn: 0 })
    expect(2 * run.withheld).toBeGreaterThan(before.length)
    expect((await catalogOf(shop)).ss).toEqual(before)
    // A person who has looked at the list may let it.
    const body = { vendor_account_id: shop.accounts['ss-activewear'], withdraw_most: true }
    const { body: told } = await service.request('POST /v1/catalog/sync-runs', { token: shop.token, body })
    await work()
    expect(await runOf(shop, told.id)).toMatchObject({ withdrawn: run.withheld, withheld: 0 })
    listed = everything
    await synced(shop)
    expect((await catalogOf(shop)).ss).toEqual(before)
  })
})

describe('a sync run that did not read the whole list', () => {
  it('withdraws nothing when it fails after a page', async () => {
    const shop = await newShop()
    await synced(shop)
    const before = (await catalogOf(shop)).ss
    listed = only(3, () => null)
    const run = await startedBy(shop)
    while ((await runOf(shop, run)).styles === 0) {
      let calls = 0
      await work({ ...TIME, shouldStop: () => calls++ > 3 })
    }
    await faults.set({ part: 'vendor', mode: 'refuse' })
    await work()
    expect(await runOf(shop, run)).toMatchObject({ status: 'failed', withdrawn: 0 })
    expect((await catalogOf(shop)).ss).toEqual(before)
  })

  it('withdraws nothing until it has continued to the end, and then what no page of it had', async () => {
    const shop = await newShop()
    await synced(shop)
    const [first, last] = [await styleOf(shop, 3), await styleOf(shop, PRODUCTS - 1)]
    listed = only(PRODUCTS - 1, () => null)
    const run = await startedBy(shop)
    for (let invocations = 0; (await runOf(shop, run)).finished_at === null && invocations < 10; invocations += 1) {
      expect((await offered(shop, last.id)).length).toBeGreaterThan(0)
      let calls = 0
      await work({ ...TIME, shouldStop: () => calls++ > 3 })
    }
    expect((await runOf(shop, run)).withdrawn).toBeGreaterThan(0)
    expect(await offered(shop, last.id)).toEqual([])
    expect((await offered(shop, first.id)).length).toBeGreaterThan(0)
  })

  it('withdraws nothing when its position is not the end of its list', async () => {
    const { completeRun } = await import('#functions/workers/sync-catalog/complete-run.ts')
    const shop = await newShop()
    const run = await startedBy(shop)
    const [row] = await service.sql`
      update app.sync_runs set status = 'running', started_at = now(), products = array['1', '2'], position = 1 where id = ${run}
      returning id, vendor, started_at::text`
    const complete = () =>
      service.sql.begin(async (tx) => {
        await tx`select app.set_tenant(${shop.id}, null)`
        await tx`set local role identity_worker`
        return completeRun(tx as never, row as never)
      })
    expect(await complete()).toBeNull()
    await service.sql`update app.sync_runs set position = 2 where id = ${run}`
    expect(await complete()).toEqual({ withdrawn: 0, withheld: 0 })
    expect(await complete()).toBeNull()
  })
})

describe('runs and deals at the same time', () => {
  it('a run of another worker that has ended withdraws nothing twice, and two vendors do not wait for each other in a circle', async () => {
    const shop = await newShop('sanmar', 'ss-activewear')
    for (const vendor of ['sanmar', 'ss-activewear']) await synced(shop, vendor)
    listed = without((_, index) => index % 7 === 0)
    const runs = [await startedBy(shop, 'sanmar'), await startedBy(shop)]
    expect(await work()).toBe(2)
    for (const run of runs) expect(await runOf(shop, run)).toMatchObject({ status: 'succeeded', withheld: 0 })
    await expireLeases()
    await work()
    const { sanmar, ss } = await catalogOf(shop)
    const skuOf = (line: string) => line.split('|')[1] ?? ''
    for (const line of [...sanmar, ...ss]) expect(Number(skuOf(line).slice(1, 6)) % 7).not.toBe(0)
  })

  it('a line that a deal gets while the run withdraws its style is kept or refused, and never breaks', async () => {
    const shop = await newShop()
    await synced(shop)
    const styles = [await styleOf(shop, OWN), await styleOf(shop, OWN + 1), await styleOf(shop, OWN + 2)]
    listed = without((_, index) => index >= OWN && index < OWN + 3)
    const deals = await Promise.all(styles.map(() => newDeal(shop)))
    const run = await startedBy(shop)
    const working = work()
    const statuses: number[][] = deals.map(() => [])
    while ((await runOf(shop, run)).finished_at === null)
      await Promise.all(
        styles.map(async ({ id }, at) => {
          const cleared = await put(shop, deals[at] ?? '', [])
          const { status } = await put(shop, deals[at] ?? '', [id])
          expect(cleared.status).toBe(200)
          statuses[at]?.push(status)
        }),
      )
    await working
    for (const each of statuses) {
      expect(each.filter((status) => status !== 200 && status !== 422)).toEqual([])
      // Once refused, always refused.
      expect(each).toEqual(each.toSorted((a, b) => a - b))
    }
    for (const { id } of styles) expect((await get(shop, `catalog/styles/${id}`)).status).toBe(200)
  })
})
