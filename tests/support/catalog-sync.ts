import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { syncDueRuns, type TimeBudget } from '#functions/workers/sync-catalog/sync.ts'
import { createFaults } from '#infra/local/faults.ts'
import { startVendors, vendorAccounts } from '#infra/local/vendors/vendors.ts'
import type { Database } from '#shared/db/connect.ts'
import { connectTo } from './access.ts'
import type { Answer } from './service.ts'
import { useService } from './test.ts'

/** How often a tenant may ask for a run in an hour. */
export const SYNC_LIMIT = 20
export const TIME: TimeBudget = { shouldStop: () => false, pause: async () => {} }

/** A product as its vendor lists it at present, or null for one that it lists no more. */
export type Listed = NonNullable<NonNullable<Parameters<typeof startVendors>[0]>['listed']>

/** A tenant with vendor accounts, by vendor. */
export interface Shop {
  readonly id: string
  readonly token: string
  readonly accounts: Readonly<Record<string, string>>
}

/** Something that makes a run fail, and the pauses of its worker before that, in milliseconds. */
export interface Trouble {
  readonly error: string
  readonly pauses: readonly number[]
  readonly when: string
  readonly cause: (shop: Shop) => Promise<unknown>
}

/** The pauses between five tries. */
export const PAUSES = [1000, 2000, 4000, 8000]

/** Starts the service with two local vendors of so many products, and syncs both in one tenant without any trouble. */
export async function useCatalogSync(products: number, listed: Listed = (product) => product) {
  const faults = createFaults()
  const vendors = await startVendors({ faults, products, listed })
  const env = { VENDOR_URLS: JSON.stringify(vendors.urls), SYNC_TENANT_LIMIT: String(SYNC_LIMIT) }
  const service = useService({ env })
  const invoked: string[] = []
  let database: Database
  let calm: Shop
  let expected: Awaited<ReturnType<typeof catalogOf>>
  beforeAll(async () => {
    const invoke = async () => void invoked.push('sync-catalog')
    const options = { connections: 4, prepare: true }
    database = connectTo(service.database.workerUrl, options, new Map([['sync-catalog', invoke]]))
    const both = ['sanmar', 'ss-activewear']
    calm = await newShop(...both)
    for (const vendor of both) {
      await startedBy(calm, vendor)
      expect(await work()).toBe(1)
    }
    expected = await catalogOf(calm)
  })
  afterEach(async () => {
    await faults.set({ part: 'vendor', mode: 'ok' })
    await service.vault.faults.set({ part: 'kms', mode: 'ok' })
  })
  afterAll(async () => {
    await database.close()
    await vendors.close()
  })

  /** Makes a tenant with an account of each of these vendors, or of S&S Activewear. */
  async function newShop(...codes: string[]): Promise<Shop> {
    const { id, admin } = await service.newTenant('admin')
    const accounts: Record<string, string> = {}
    for (const { code: vendor, ...credential } of vendorAccounts) {
      if (!(codes.length === 0 ? ['ss-activewear'] : codes).includes(vendor)) continue
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

  const work = (budget = TIME, from = database, vault = service.runtime.vault): Promise<number> =>
    syncDueRuns({ config: service.worker.config, vault, database: from }, budget)

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

  /** Lets the lease of a worker that died expire. */
  const expireLeases = () =>
    service.sql`update app.jobs set leased_until = now() - interval '1 second', run_at = now() where kind = 'sync-catalog'`

  /** Expects that the trouble ends a run that has started, and its job. */
  async function expectFailure({ error, pauses, cause }: Trouble): Promise<void> {
    const shop = await newShop()
    const run = await startedBy(shop)
    // A vault of its own has no data keys in memory.
    const vault = service.vault.openVault(service.database)
    await cause(shop)
    const paused: number[] = []
    await work({ ...TIME, pause: async (ms) => void paused.push(ms) }, database, vault)
    await vault.close()
    expect(paused).toEqual(pauses)
    const [row] = await service.sql`select status, error from app.sync_runs where id = ${run}`
    expect({ ...row }).toEqual({ status: 'failed', error })
    const [job] = await service.sql`select completed_at from app.jobs where idempotency_key = ${run}`
    expect(job?.['completed_at']).not.toBeNull()
  }

  return {
    service,
    faults,
    invoked,
    newShop,
    start,
    startedBy,
    runOf,
    work,
    catalogOf,
    expireLeases,
    expectFailure,
    get database() {
      return database
    },
    /** The tenant that synced both vendors. */
    get calm() {
      return calm
    },
    /** Its catalog. */
    get expected() {
      return expected
    },
  }
}
