import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { syncDueRuns, type TimeBudget } from '#functions/sync-catalog/sync.ts'
import { createFaults } from '#infra/local/faults.ts'
import { startVendors, vendorAccounts } from '#infra/local/vendors/vendors.ts'
import type { Database, Sql } from '#shared/db/connect.ts'
import { connectTo } from '#tests/support/access.ts'
import { expectProblem } from '#tests/support/expect-answer.ts'
import { rounds } from '#tests/support/rounds.ts'
import type { Answer } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const PRODUCTS = 41

const faults = createFaults()
const vendors = await startVendors({ faults, products: PRODUCTS })
const service = useService({ env: { VENDOR_URLS: JSON.stringify(vendors.urls) } })
let database: Database
const invoked: string[] = []
beforeAll(() => {
  const invoke = async () => void invoked.push('sync-catalog')
  const options = { connections: 4, prepare: true }
  database = connectTo(service.database.workerUrl, options, new Map([['sync-catalog', invoke]]))
})
afterEach(async () => {
  await faults.set({ part: 'vendor', mode: 'ok' })
  await service.vault.faults.set({ part: 'kms', mode: 'ok' })
})
afterAll(async () => {
  await database.close()
  await vendors.close()
})

interface Shop {
  readonly id: string
  readonly token: string
  readonly accounts: Readonly<Record<string, string>>
}

/** Makes a tenant with an account of each vendor. */
async function newShop(): Promise<Shop> {
  const { id, admin } = await service.newTenant('admin')
  const accounts: Record<string, string> = {}
  for (const { code: vendor, ...credential } of vendorAccounts) {
    const { body } = await service.request('POST /v1/vendor-accounts', {
      token: admin.token,
      body: { vendor, ...credential },
    })
    accounts[vendor] = body.id
  }
  return { id, token: admin.token, accounts }
}

const start = ({ token, accounts }: Shop, vendor = 'ss-activewear'): Promise<Answer> =>
  service.request('POST /v1/catalog/sync-runs', { token, body: { vendor_account_id: accounts[vendor] } })

async function startedBy(shop: Shop, vendor?: string): Promise<string> {
  const { status, body } = await start(shop, vendor)
  expect([status, body.status]).toEqual([200, 'queued'])
  return body.id
}

const runOf = async ({ token }: Shop, id: string): Promise<any> =>
  (await service.request(`GET /v1/catalog/sync-runs/${id}`, { token })).body

const TIME: TimeBudget = { shouldStop: () => false, pause: async () => {} }

const work = (budget = TIME, from = database): Promise<number> =>
  syncDueRuns({ config: service.mail.worker.config, vault: service.runtime.vault, database: from }, budget)

/** Lets the lease of a worker that died expire. */
const expireLeases = () =>
  service.sql`update app.jobs set leased_until = now() - interval '1 second', run_at = now() where kind = 'sync-catalog'`

/** Returns the SKUs of a tenant, a line for each, and the counts of its runs. */
async function catalogOf({ id }: Shop) {
  const skus = await service.sql<{ vendor: string | null; line: string }[]>`
    select k.vendor, concat_ws('|', k.vendor, k.sku, s.brand, s.style_number, s.tenant_id is null, coalesce(v.color, '-'),
                               coalesce(v.size_id::text, v.unresolved), p.unit_price, p.currency) as line
      from app.variants v
      join app.styles s on s.id = v.style_id
      left join app.variant_skus k on k.variant_id = v.id
      left join app.vendor_prices p on p.variant_id = v.id and p.vendor = k.vendor
     where v.tenant_id = ${id}`
  const runs = await service.sql`
    select vendor, status, styles, variants, prices, unresolved_sizes, error from app.sync_runs
     where tenant_id = ${id} order by vendor collate "C", created_at`
  const of = (vendor: string) => skus.flatMap((sku) => (sku.vendor === vendor ? [sku.line] : [])).toSorted()
  return {
    sanmar: of('sanmar'),
    ss: of('ss-activewear'),
    orphans: skus.filter(({ vendor }) => vendor === null).length,
    runs: [...runs],
  }
}

/** The catalog of a shop that synced both vendors without any trouble. */
let expected: Awaited<ReturnType<typeof catalogOf>>
let calm: Shop
beforeAll(async () => {
  calm = await newShop()
  for (const vendor of ['sanmar', 'ss-activewear']) {
    await startedBy(calm, vendor)
    expect(await work()).toBe(1)
  }
  expected = await catalogOf(calm)
})

describe('a sync run', () => {
  it('reads every product of a vendor, with odd rows, and counts what it read', async () => {
    expect(expected.runs).toEqual(
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
    const [run] = expected.runs
    // Of each ten products one has a SKU twice, one has two SKUs of one variant, and one has a SKU without a price.
    const read = expected.sanmar.length + 8
    expect([run?.['variants'], run?.['prices']]).toEqual([read, read - 4])
    const find = async (sku: string) => {
      const rows = await service.sql`
        select v.color, v.size_id, v.vendor_size, p.unit_price from app.variant_skus k
          join app.variants v on v.id = k.variant_id
          left join app.vendor_prices p on p.variant_id = v.id and p.vendor = k.vendor
         where k.tenant_id = ${calm.id} and k.sku = ${sku}`
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
    const platform = expected.sanmar.filter((line) => line.split('|')[4] === 't')
    expect([platform.length > 0, platform.length < expected.sanmar.length]).toEqual([true, true])
  })

  it('puts the SKUs of two vendors on one variant where style, color and size agree', async () => {
    const [style] = await service.sql`select id from app.styles where tenant_id is null and style_number = '5000'`
    const { body } = await service.request(`GET /v1/catalog/styles/${style?.['id']}/variants`, { token: calm.token })
    const both = body.data.filter(({ skus }: { skus: object[] }) => skus.length === 2)
    expect(both.length).toBeGreaterThan(0)
    expect(both[0].skus.map(({ vendor }: { vendor: string }) => vendor)).toEqual(['sanmar', 'ss-activewear'])
  })

  it('opens the credential of the tenant, which leaves an audit entry', async () => {
    const shop = await newShop()
    const run = await startedBy(shop)
    await work()
    const entries = await service.sql`
      select action, after->>'reason' as reason from app.audit_log where tenant_id = ${shop.id} and request_id = ${run}`
    expect([...entries]).toEqual([{ action: 'vendor_account.opened', reason: 'catalog' }])
  })

  it('changes no row when it reads a page again, and only times when a later run reads it', async () => {
    const rows = async () =>
      service.sql`
        select 'style' as kind, id::text, xmin::text from app.styles where tenant_id = ${calm.id}
        union all select 'variant', id::text, xmin::text from app.variants where tenant_id = ${calm.id}
        union all select 'sku', id::text, xmin::text from app.variant_skus where tenant_id = ${calm.id}
        union all select 'price', vendor || variant_id, xmin::text from app.vendor_prices where tenant_id = ${calm.id}
         order by 1, 2`
    const run = await startedBy(calm)
    await work()
    const before = await rows()
    await service.sql`update app.sync_runs set status = 'running', finished_at = null, position = 0 where id = ${run}`
    await service.sql`update app.jobs set completed_at = null where idempotency_key = ${run}`
    await work()
    expect(await rows()).toEqual(before)
    expect((await catalogOf(calm)).ss).toEqual(expected.ss)
  })

  it('continues in another invocation at any page, exactly where it stopped', async () => {
    const shop = await newShop()
    const run = await startedBy(shop)
    const counts: number[] = []
    for (let invocations = 0; (await runOf(shop, run)).finished_at === null && invocations < 10; invocations += 1) {
      // Each invocation has time for two tries.
      let calls = 0
      const before = invoked.length
      await work({ ...TIME, shouldStop: () => calls++ > 3 })
      const { status, styles } = await runOf(shop, run)
      expect(invoked.length - before).toBe(status === 'running' ? 1 : 0)
      counts.push(styles)
    }
    expect(counts.length).toBeGreaterThan(2)
    expect(counts).toEqual(counts.toSorted((a, b) => a - b))
    expect(counts.at(-1)).toBe(PRODUCTS)
    expect((await catalogOf(shop)).ss).toEqual(expected.ss)
  })

  it('loses and repeats nothing when its worker is killed at any step', async () => {
    // A worker of one undisturbed run takes fewer steps than this.
    const STEPS = 60
    const deaths = [...rounds(10)]
    for (const round of deaths) {
      const shop = await newShop()
      const run = await startedBy(shop)
      const step = 1 + Math.floor((round * STEPS) / deaths.length)
      await work(TIME, dying(database, step)).catch((error: unknown) => expect(String(error)).toContain('killed'))
      await expireLeases()
      await work()
      expect(await runOf(shop, run), `killed at step ${step}`).toMatchObject({ status: 'succeeded', styles: PRODUCTS })
      expect((await catalogOf(shop)).ss).toEqual(expected.ss)
    }
  })

  it('stores nothing after another worker has taken it', async () => {
    const shop = await newShop()
    const run = await startedBy(shop)
    // The second worker begins while the first one waits for a page.
    await faults.set({ part: 'vendor', mode: 'hang' })
    const first = work()
    await expect.poll(async () => (await runOf(shop, run)).status).toBe('running')
    await expireLeases()
    await faults.set({ part: 'vendor', mode: 'ok' })
    await Promise.all([first, work()])
    await expireLeases()
    await work()
    expect(await runOf(shop, run)).toMatchObject({ status: 'succeeded', styles: PRODUCTS })
    expect((await catalogOf(shop)).ss).toEqual(expected.ss)
  })

  it('stores the same for two vendors at the same time as one after the other', async () => {
    const shop = await newShop()
    for (const vendor of Object.keys(shop.accounts)) await startedBy(shop, vendor)
    expect(await work()).toBe(2)
    expect(await catalogOf(shop)).toEqual(expected)
  })
})

describe('a sync run fails', () => {
  interface Trouble {
    readonly error: string
    readonly pauses: readonly number[]
    readonly when: string
    readonly cause: (shop: Shop) => Promise<unknown>
  }
  const PAUSES = [1000, 2000, 4000, 8000]
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
      cause: ({ id }) => service.sql`update app.sync_runs r set vendor_account_id = a.id from app.vendor_accounts a
                                      where r.tenant_id = ${id} and a.tenant_id = ${id} and a.account_number = '1'`,
    },
    {
      error: 'kms-unavailable',
      pauses: PAUSES,
      when: 'KMS is down five times',
      cause: () => service.vault.faults.set({ part: 'kms', mode: 'refuse' }),
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

  it.each(TROUBLES)('with $error when $when', async ({ error, pauses, cause }) => {
    const shop = await newShop()
    if (error === 'vendor-rejected') {
      await faults.set({ part: 'vendor', mode: 'refuse' })
      const body = { vendor: 'ss-activewear', account_number: '1', secret: 'wrong' }
      expect((await service.request('POST /v1/vendor-accounts', { token: shop.token, body })).status).toBe(200)
      await faults.set({ part: 'vendor', mode: 'ok' })
    }
    const run = await startedBy(shop)
    // A vault of its own has no data keys in memory.
    const vault = service.vault.openVault(service.database)
    await cause(shop)
    const paused: number[] = []
    const pause = async (ms: number) => void paused.push(ms)
    await syncDueRuns({ config: service.mail.worker.config, vault, database }, { ...TIME, pause })
    await vault.close()
    expect(paused).toEqual(pauses)
    const [row] = await service.sql`select status, error from app.sync_runs where id = ${run}`
    expect({ ...row }).toEqual({ status: 'failed', error })
    const [job] = await service.sql`select completed_at from app.jobs where idempotency_key = ${run}`
    expect(job?.['completed_at']).not.toBeNull()
    if (error === 'abandoned') return
    // The place is free.
    await startedBy(shop)
    await service.sql`update app.sync_runs set status = 'failed', error = 'abandoned', finished_at = now() where finished_at is null`
  })
})

describe('POST /v1/catalog/sync-runs', () => {
  afterEach(
    () =>
      service.sql`update app.sync_runs set status = 'failed', error = 'abandoned', finished_at = now() where finished_at is null`,
  )

  it('starts one run of a tenant and vendor, however many ask at the same time', async () => {
    for (const _ of rounds(3)) {
      const shop = await newShop()
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
    await service.request(`DELETE /v1/vendor-accounts/${shop.accounts['sanmar']}`, { token })
    for (const account of [shop.accounts['sanmar'], other.accounts['sanmar'], other.id]) {
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
    const { token } = calm
    const { body } = await service.request('GET /v1/catalog/sync-runs?vendor=ss-activewear', { token })
    const created = body.data.map(({ created_at: at }: { created_at: string }) => at)
    expect(created.length).toBe(2)
    expect(created).toEqual(created.toSorted().toReversed())
    const none = await service.request('GET /v1/catalog/sync-runs?vendor=nobody', { token })
    expect(none.body.data).toEqual([])
  })
})

/** Returns a database whose worker is killed before or after the statement or transaction of this step, and stays dead. */
function dying(alive: Database, steps: number): Database {
  let left = steps
  const step = () => {
    left -= 1
    if (left <= 0) throw new Error('killed')
  }
  const living = async <T>(act: () => Promise<T>): Promise<T> => {
    step()
    const result = await act()
    step()
    return result
  }
  const sql: Sql = Object.assign(
    <Row extends object>(
      text: TemplateStringsArray,
      ...values: Parameters<Database['sql']> extends [unknown, ...infer V] ? V : never
    ) => living(() => alive.sql<Row>(text, ...values)),
    { invoking: () => sql },
  )
  return { ...alive, sql, transaction: (mode, act) => living(() => alive.transaction(mode, act)) }
}
