import { afterEach, describe, expect, it } from 'vitest'
import { PAUSES, SYNC_LIMIT, type Trouble, useCatalogSync } from '#tests/support/catalog-sync.ts'
import { expectProblem } from '#tests/support/expect-answer.ts'
import { rounds } from '#tests/support/rounds.ts'

// A page has 20.
const PRODUCTS = 21

const sync = await useCatalogSync(PRODUCTS)
const { service, faults, newShop, start, startedBy, runOf, work, catalogOf } = sync

describe('a sync run', () => {
  it('reads every product of a vendor, with odd rows, and counts what it read', async () => {
    expect(sync.expected.runs).toEqual(
      ['sanmar', 'ss-activewear'].map((vendor) => ({
        vendor,
        status: 'succeeded',
        styles: PRODUCTS,
        variants: expect.any(Number),
        prices: expect.any(Number),
        unresolved_sizes: 2,
        error: null,
      })),
    )
    const [run] = sync.expected.runs
    // Of each ten products one has a SKU twice, one has two SKUs of one variant, and one has a SKU without a price.
    const read = sync.expected.sanmar.length + 4
    expect([run?.['variants'], run?.['prices']]).toEqual([read, read - 2])
    const find = async (sku: string) => {
      const rows = await service.sql`
        select v.color, v.size_id, v.vendor_size, p.unit_price from app.variant_skus k
          join app.variants v on v.id = k.variant_id
          left join app.vendor_prices p on p.variant_id = v.id and p.vendor = k.vendor
         where k.tenant_id = ${sync.calm.id} and k.sku = ${sku}`
      return [...rows]
    }
    expect(await find('80000490')).toMatchObject([{ color: 'Gold', unit_price: '2.0000' }])
    expect(await find('80000590')).toMatchObject([{ unit_price: '3.1235' }])
    expect(await find('80000591')).toMatchObject([{ unit_price: '0.0001' }])
    expect(await find('80000390')).toMatchObject([{ color: null, size_id: 3 }])
    expect(await find('80000191')).toMatchObject([{ size_id: 6, vendor_size: 'xxl' }])
    expect(await find('80000290')).toMatchObject([{ size_id: null, vendor_size: 'ONE-OFF' }])
    expect(await find('80000690')).toMatchObject([{ unit_price: null }])
    expect([await find('80000790'), await find('80000791')]).toMatchObject([[], [{ unit_price: '5.2500' }]])
    const { body: listed } = await service.request('GET /v1/catalog/sync-runs?vendor=sanmar', {
      token: sync.calm.token,
    })
    const detail = await runOf(sync.calm, listed.data[0].id)
    expect(detail.unknown_sizes).toEqual(['28x30', 'ONE-OFF'])
    expect([detail.products_read, detail.products_total]).toEqual([PRODUCTS, PRODUCTS])
    const platform = sync.expected.sanmar.filter((line) => line.split('|')[4] === 't')
    expect([platform.length > 0, platform.length < sync.expected.sanmar.length]).toEqual([true, true])
  })

  it('puts the SKUs of two vendors on one variant where style, color and size agree', async () => {
    const [style] = await service.sql`select id from app.styles where tenant_id is null and style_number = '5000'`
    const { body } = await service.request(`GET /v1/catalog/styles/${style?.['id']}/variants`, {
      token: sync.calm.token,
    })
    const both = body.data.filter(({ skus }: { skus: object[] }) => skus.length === 2)
    expect(both.length).toBeGreaterThan(0)
    expect(both[0].skus.map(({ vendor }: { vendor: string }) => vendor)).toEqual(['sanmar', 'ss-activewear'])
  })

  it('opens the credential of the tenant, which leaves an audit entry', async () => {
    const entries = await service.sql`
      select r.vendor, a.action, a.after->>'reason' as reason from app.audit_log a
        join app.sync_runs r on r.id::text = a.request_id::text
       where r.tenant_id = ${sync.calm.id} and a.tenant_id = r.tenant_id order by r.created_at`
    expect([...entries].slice(0, 2)).toEqual(
      ['sanmar', 'ss-activewear'].map((vendor) => ({ vendor, action: 'vendor_account.opened', reason: 'catalog' })),
    )
  })

  it('changes no row when it reads a page again, and only times when a later run reads it', async () => {
    const rows = async () =>
      service.sql`
        select 'style' as kind, id::text, xmin::text from app.styles where tenant_id = ${sync.calm.id}
        union all select 'variant', id::text, xmin::text from app.variants where tenant_id = ${sync.calm.id}
        union all select 'sku', id::text, xmin::text from app.variant_skus where tenant_id = ${sync.calm.id}
        union all select 'price', vendor || variant_id, xmin::text from app.vendor_prices where tenant_id = ${sync.calm.id}
         order by 1, 2`
    const run = await startedBy(sync.calm)
    await work()
    const before = await rows()
    await service.sql`update app.sync_runs set status = 'running', finished_at = null, position = 0 where id = ${run}`
    await service.sql`update app.jobs set completed_at = null where idempotency_key = ${run}`
    await work()
    expect(await rows()).toEqual(before)
    expect((await catalogOf(sync.calm)).ss).toEqual(sync.expected.ss)
  })
})

describe('a sync run fails', () => {
  const TROUBLES: readonly Trouble[] = [
    {
      error: 'vendor-unreachable',
      pauses: PAUSES,
      when: 'the vendor is down five times',
      cause: () => faults.set({ part: 'vendor', mode: 'refuse' }),
    },
    {
      error: 'vendor-answer',
      pauses: PAUSES,
      when: 'the vendor’s response is cut off five times',
      cause: () => faults.set({ part: 'vendor', mode: 'garble' }),
    },
    {
      error: 'vendor-rejected',
      pauses: [],
      when: 'the vendor refuses the credential',
      cause: async ({ id, token }) => {
        await faults.set({ part: 'vendor', mode: 'refuse' })
        const body = { vendor: 'ss-activewear', account_number: '1', secret: 'wrong' }
        const { status, body: account } = await service.request('POST /v1/vendor-accounts', { token, body })
        expect(status).toBe(200)
        await faults.set({ part: 'vendor', mode: 'ok' })
        await service.sql`update app.sync_runs set vendor_account_id = ${account.id} where tenant_id = ${id}`
      },
    },
    {
      error: 'abandoned',
      pauses: [],
      when: 'the tenant was suspended',
      cause: ({ id }) => service.sql`update app.tenants set status = 'suspended' where id = ${id}`,
    },
    {
      error: 'abandoned',
      pauses: [],
      when: 'the account was revoked',
      cause: ({ token, accounts }) =>
        service.request(`DELETE /v1/vendor-accounts/${accounts['ss-activewear']}`, { token }),
    },
    {
      error: 'abandoned',
      pauses: [],
      when: 'five workers died without storing a page',
      cause: ({ id }) =>
        service.sql`update app.sync_runs set takes = 5, status = 'running', started_at = now() where tenant_id = ${id}`,
    },
  ]

  it.each(TROUBLES)('with $error when $when', sync.expectFailure)
})

describe('POST /v1/catalog/sync-runs', () => {
  afterEach(
    () =>
      service.sql`update app.sync_runs set status = 'failed', error = 'abandoned', finished_at = now() where finished_at is null`,
  )

  it('starts one run of a tenant and vendor, however many ask at the same time', async () => {
    for (const _ of rounds(3)) {
      const shop = await newShop('sanmar', 'ss-activewear')
      const answers = await Promise.all(Array.from({ length: 12 }, () => start(shop)))
      const [started, ...others] = answers.toSorted((a, b) => a.status - b.status)
      expect(started?.status).toBe(200)
      for (const other of others) {
        expectProblem(other, 'sync-active')
        expect(other.body.sync_run_id).toBe(started?.body.id)
      }
      // Another vendor of the tenant, and another tenant, have places of their own.
      await startedBy(shop, 'sanmar')
    }
  })

  it('limits how often a tenant asks for a run, and no other tenant', async () => {
    const [shop, other] = [await newShop(), await newShop()]
    await startedBy(shop)
    for (let asked = 1; asked < SYNC_LIMIT; asked += 1) expectProblem(await start(shop), 'sync-active')
    const refused = await start(shop)
    expectProblem(refused, 'rate-limited')
    expect(refused.headers.get('ratelimit-policy')).toBe(`"sync-tenant";q=${SYNC_LIMIT};w=3600`)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    await startedBy(other)
  })

  it('keeps one active run per tenant and vendor only by its index', async () => {
    const shop = await newShop()
    await startedBy(shop)
    const second =
      'insert into app.sync_runs (tenant_id, vendor, vendor_account_id) select tenant_id, vendor, vendor_account_id from app.sync_runs'
    const undone = new Error('rolled back')
    const insert = `${second} where tenant_id = '${shop.id}' and finished_at is null`
    await expect(service.sql.unsafe(insert)).rejects.toMatchObject({ constraint_name: 'sync_runs_one_active' })
    const without = service.sql.begin(async (tx) => {
      await tx.unsafe('drop index app.sync_runs_one_active')
      expect((await tx.unsafe(insert)).count).toBe(1)
      throw undone
    })
    await expect(without).rejects.toBe(undone)
  })

  it('finds no account that is revoked, unknown or of another tenant', async () => {
    const [shop, other] = [await newShop(), await newShop()]
    const { token } = shop
    await service.request(`DELETE /v1/vendor-accounts/${shop.accounts['ss-activewear']}`, { token })
    for (const account of [shop.accounts['ss-activewear'], other.accounts['ss-activewear'], other.id]) {
      const body = { vendor_account_id: account }
      expect((await service.request('POST /v1/catalog/sync-runs', { token, body })).status).toBe(404)
    }
  })

  it('ends a run that no worker has had for a quarter of an hour, and starts another', async () => {
    const shop = await newShop()
    const lost = await startedBy(shop)
    await service.sql`update app.sync_runs set touched_at = now() - interval '14 minutes' where id = ${lost}`
    expect((await start(shop)).status).toBe(409)
    await service.sql`update app.sync_runs set touched_at = now() - interval '16 minutes' where id = ${lost}`
    const next = await startedBy(shop)
    expect(await runOf(shop, lost)).toMatchObject({ status: 'failed', error: 'abandoned' })
    expect(await work()).toBe(1)
    expect(await runOf(shop, next)).toMatchObject({ status: 'succeeded' })
  })

  it('lists the runs of a vendor, newest first', async () => {
    const { token } = sync.calm
    const { body } = await service.request('GET /v1/catalog/sync-runs?vendor=ss-activewear', { token })
    const created = body.data.map(({ created_at: at }: { created_at: string }) => at)
    expect(created.length).toBe(2)
    expect(created).toEqual(created.toSorted().toReversed())
    const none = await service.request('GET /v1/catalog/sync-runs?vendor=nobody', { token })
    expect(none.body.data).toEqual([])
  })
})
