import { log } from '#shared/base/log.ts'
import { countMetric } from '#shared/base/metrics.ts'
import { drain, UnreadableJob } from '#shared/queue/drain.ts'
import type { JobPayload } from '#shared/queue/kinds.ts'
import { type LeasedJob, proofOfLease, renewLease } from '#shared/queue/queries.ts'
import type { TenantProof } from '#shared/db/scope.ts'
import { DecryptionFailed } from '#shared/vault/envelope.ts'
import { KeyServiceUnavailable } from '#shared/vault/key-service.ts'
import { VendorUnreachable } from '#shared/outbound/bounded-request.ts'
import { openCatalog } from '#shared/suppliers/catalog.ts'
import { openVendorCredential } from '#shared/suppliers/open-credential.ts'
import { findVendor } from '#shared/suppliers/vendor-queries.ts'
import { type VendorCatalog, VendorRejected, type VendorStyle } from '#shared/suppliers/vendor-catalog.ts'
import type { Runtime } from './worker.ts'
import { failRun, type SyncError, type SyncRun, storeProducts, takeRun, tenantIsOpen } from './queries.ts'
import { completeRun } from './complete-run.ts'
import { storePage } from './store-page.ts'

const LEASE_SECONDS = 60
/** How many runs one instance works on concurrently. */
const CONCURRENCY = 2
/** How often a run is taken without storing a page, before it is abandoned: its workers die. */
const MAX_TAKES = 5
const MAX_TRIES = 5
const FIRST_PAUSE_MS = 1000
// S&S Activewear counts requests by the minute.
const THROTTLED_PAUSE_MS = 15_000

/** The time that an invocation has. */
export interface TimeBudget {
  readonly shouldStop: () => boolean
  readonly pause: (ms: number) => Promise<unknown>
}

/** The run ends with this error. */
class RunFailed extends Error {
  override name = 'RunFailed'
  readonly error: SyncError

  constructor(error: SyncError) {
    super(error)
    this.error = error
  }
}

/** Another worker may have the run by now. */
class LeaseLost extends Error {
  override name = 'LeaseLost'
}

/** The time budget is used up. Another invocation continues. */
class OutOfTime extends Error {
  override name = 'OutOfTime'
}

/**
 * Works on the sync runs that are due until none is left or the time budget is used up. A run that needs more time continues in
 * another invocation, where it stopped. Returns how many runs ended.
 */
export async function syncDueRuns(runtime: Runtime, budget: TimeBudget): Promise<number> {
  const lane = () =>
    drain(
      runtime.database,
      {
        kind: 'sync-catalog',
        concurrency: 1,
        leaseSeconds: LEASE_SECONDS,
        attempts: null,
        run: (job) => sync(runtime, job, budget),
        isFinal: () => false,
      },
      budget.shouldStop,
    )
  const ended = await Promise.all(Array.from({ length: CONCURRENCY }, lane))
  return ended.reduce((sum, each) => sum + each, 0)
}

type SyncJob = LeasedJob<JobPayload<'sync-catalog'>>

async function sync(runtime: Runtime, job: SyncJob, budget: TimeBudget): Promise<boolean | 'unfinished'> {
  const { database } = runtime
  if (job.tenant_id === null) throw new UnreadableJob('a sync run needs a tenant')
  const proof = proofOfLease(job)
  const run = await proof.write(database, (sql) => takeRun(sql, job.payload.run_id))
  // It ended, or was abandoned, before the worker could complete the job.
  if (run === null) return false
  try {
    if (run.takes > MAX_TAKES || !(await proof.read(database, tenantIsOpen))) throw new RunFailed('abandoned')
    await readCatalog(runtime, job, run, tryingFor(runtime, job, run, budget))
    return await complete(runtime, proof, run)
  } catch (error) {
    if (error instanceof OutOfTime) return 'unfinished'
    if (!(error instanceof RunFailed)) throw error
    log.warn('a sync run failed', { run_id: run.id, vendor: run.vendor, reason: error.error })
    if (error.error !== 'vendor-rejected') countMetric('SyncFailed', error.error)
    return proof.write(database, (sql) => failRun(sql, run.id, error.error))
  }
}

/** Withdraws what the vendor no longer lists, and ends the run. Returns false if it ended before. */
async function complete({ database }: Runtime, proof: TenantProof, run: SyncRun): Promise<boolean> {
  const completed = await proof.write(database, (sql) => completeRun(sql, run))
  if (completed === null) return false
  const { withheld } = completed
  if (withheld > 0)
    log.warn('a vendor lists most of its SKUs no longer; the sync run withdraws none', {
      run_id: run.id,
      vendor: run.vendor,
      withheld,
    })
  return true
}

/** Makes up to five tries, within about a minute. Throws RunFailed, OutOfTime or LeaseLost. */
type Trying = <T>(read: () => Promise<T>) => Promise<T>

const tryingFor =
  ({ database }: Runtime, job: SyncJob, run: SyncRun, budget: TimeBudget): Trying =>
  async (read) => {
    for (let tries = 1; ; tries += 1) {
      if (budget.shouldStop()) throw new OutOfTime()
      if (!(await renewLease(database.sql, job, LEASE_SECONDS))) throw new LeaseLost()
      try {
        return await read()
      } catch (error) {
        const failed = errorOf(error)
        if (failed === null) throw error
        if (error instanceof VendorUnreachable) countMetric('VendorUnreachable', run.vendor)
        if (failed === 'vendor-rejected' || tries === MAX_TRIES) throw new RunFailed(failed)
        if (budget.shouldStop()) throw new OutOfTime()
        const isThrottled = error instanceof VendorUnreachable && error.reason === 'throttled'
        await budget.pause(isThrottled ? THROTTLED_PAUSE_MS : FIRST_PAUSE_MS * 2 ** (tries - 1))
      }
    }
  }

/** Reads and stores the rest of the run, page by page. */
async function readCatalog(runtime: Runtime, job: SyncJob, run: SyncRun, trying: Trying): Promise<void> {
  const catalog = await trying(() => openTenantCatalog(runtime, job, run))
  try {
    await readPages(runtime, job, { run, catalog, trying })
  } finally {
    catalog.close()
  }
}

async function readPages(
  { database }: Runtime,
  job: SyncJob,
  { run, catalog, trying }: { run: SyncRun; catalog: VendorCatalog; trying: Trying },
): Promise<void> {
  const proof = proofOfLease(job)
  const products = run.products ?? (await trying(() => catalog.listProducts()))
  if (run.products === null) await proof.write(database, (sql) => storeProducts(sql, run.id, products))
  const read = (position: number): Promise<readonly VendorStyle[]> => {
    const page = trying(() => catalog.readProducts(products.slice(position, position + catalog.pageSize)))
    // Awaited later, or never when the previous page is not stored.
    page.catch(() => {})
    return page
  }
  let { position } = run
  let page = position < products.length ? read(position) : null
  while (page !== null) {
    const styles = await page
    const next = Math.min(position + catalog.pageSize, products.length)
    // The vendor responds while the database stores.
    page = next < products.length ? read(next) : null
    if (!(await proof.write(database, (sql) => storePage(sql, run, { styles, position, next })))) throw new LeaseLost()
    position = next
  }
}

/** Opens the catalog with the tenant's own credential. Leaves an audit entry. */
async function openTenantCatalog({ config, vault }: Runtime, job: SyncJob, run: SyncRun): Promise<VendorCatalog> {
  const proof = proofOfLease(job)
  const opening = { reason: 'catalog', requestId: run.id } as const
  const source = { proof, tenantId: run.tenant_id, accountId: run.vendor_account_id }
  const credential = await openVendorCredential(vault, source, opening)
  // The account was revoked.
  if (credential === null) throw new RunFailed('abandoned')
  const vendor = await proof.read(vault.database, (sql) => findVendor(sql, run.vendor))
  return openCatalog(vendor, credential, config.vendor.urls)
}

// Codes of a vendor that responds, but not as its documentation says.
const ANSWERS: ReadonlySet<string> = new Set(['unexpected_response', 'too_large', 'redirected'])

/** Returns how a run ends after this error, or null for an error that is none of the vendor or of KMS. */
function errorOf(error: unknown): SyncError | null {
  if (error instanceof VendorRejected) return 'vendor-rejected'
  if (error instanceof VendorUnreachable) return ANSWERS.has(error.reason) ? 'vendor-answer' : 'vendor-unreachable'
  if (error instanceof KeyServiceUnavailable || error instanceof DecryptionFailed) return 'kms-unavailable'
  return null
}
