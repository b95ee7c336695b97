import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { urlFor } from '#infra/local/postgres/database.ts'
import { type PostgresWire, startPostgresWire } from '#infra/local/postgres/postgres-wire.ts'
import { startVendors, vendorAccounts } from '#infra/local/vendors/vendors.ts'
import { useService } from '#tests/support/test.ts'

const PRODUCTS = 5000
const PAGES = PRODUCTS / 20

const vendors = await startVendors({ products: PRODUCTS })
const service = useService({ env: { VENDOR_URLS: JSON.stringify(vendors.urls) } })
let wire: PostgresWire
beforeAll(async () => {
  const { hostname, port } = new URL(service.database.workerUrl)
  wire = await startPostgresWire({ host: hostname, port: Number(port) })
})
afterAll(async () => {
  await wire.close()
  await vendors.close()
})

interface Worked {
  readonly ended: number
  readonly seconds: number
  readonly cpuSeconds: number
  readonly maxMib: number
}

/** Works on the due runs in a process with so much heap. */
function work(): Promise<Worked> {
  const { vault, database } = service
  const input = {
    workerUrl: urlFor(database.workerUrl, { hostname: '127.0.0.1', port: wire.port }),
    vaultUrl: database.vaultUrl,
    kmsUrl: vault.kmsUrl,
    keyArn: vault.keyArn,
    vendorUrls: JSON.stringify(vendors.urls),
  }
  const child = fork(fileURLToPath(new URL('../../support/sync-process.ts', import.meta.url)), {
    env: { PATH: process.env['PATH'], POWERTOOLS_LOG_LEVEL: 'SILENT', SYNC_WORK: JSON.stringify(input) },
    // The function has 512 MiB. Young objects get a share of the heap: with V8's default of 32 MiB for each half in a heap of
    // 128 MiB, it soon collects all objects each time.
    execArgv: ['--max-old-space-size=230', '--max-semi-space-size=12'],
  })
  return new Promise((resolve, reject) => {
    child.on('message', (message) => resolve(message as Worked))
    child.on('exit', (code) => reject(new Error(`the worker ended with ${code}`)))
  })
}

it.each(vendorAccounts)(
  'syncs 5,000 products of $code in a minute, in 256 MiB, with at most 20 statements for each page',
  async ({ code: vendor, ...credential }) => {
    const { admin, id } = await service.newTenant('admin')
    const { token } = admin
    const account = await service.request('POST /v1/vendor-accounts', { token, body: { vendor, ...credential } })
    const body = { vendor_account_id: account.body.id }
    for (const kind of ['first', 'second']) {
      const run = await service.request('POST /v1/catalog/sync-runs', { token, body })
      const before = wire.counts().statements
      const worked = await work()
      const statements = wire.counts().statements - before
      const [row] =
        await service.sql`select status, styles, variants, prices from app.sync_runs where id = ${run.body.id}`
      const { seconds, cpuSeconds, maxMib } = worked
      console.log(
        `${vendor}, ${kind} run: ${row?.['variants']} SKUs in ${seconds.toFixed(1)} s (${cpuSeconds.toFixed(1)} s of a processor), ` +
          `${maxMib.toFixed(0)} MiB, ${(statements / PAGES).toFixed(1)} statements per page`,
      )
      expect({ ...row }).toMatchObject({ status: 'succeeded', styles: PRODUCTS })
      expect(seconds).toBeLessThan(60)
      expect(maxMib).toBeLessThan(256)
      expect(statements / PAGES).toBeLessThan(20)
    }
    const [stored] = await service.sql`select count(*)::int as skus from app.variant_skus where tenant_id = ${id}`
    expect(stored?.['skus']).toBeGreaterThan(12 * PRODUCTS)
  },
)
