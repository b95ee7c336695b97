import type { TenantTransaction } from '#shared/db/scope.ts'
import type { SyncRun } from './queries.ts'

/** A run that finds at least so many SKUs gone, and more than half of all, withdraws none: the vendor's list may be broken. */
const MOST_AT_LEAST = 25

/** How many SKUs a run withdrew, and how many it found gone and kept. One of the two is 0. */
export interface Withdrawal {
  readonly withdrawn: number
  readonly withheld: number
}

type Run = Pick<SyncRun, 'id' | 'vendor' | 'started_at'>

/**
 * Ends a run that has read every product of the vendor's list, and withdraws what it did not find there: SKUs, their prices, and
 * styles that no vendor lists any more. It keeps everything if most SKUs are gone, unless the run may withdraw most. Styles and
 * variants stay as rows, because deals point to them. Returns null, and changes nothing, if the run ended before or has products
 * left to read.
 */
export async function completeRun(sql: TenantTransaction, run: Run): Promise<Withdrawal | null> {
  const locked = await lockReadRun(sql, run.id)
  if (locked === null) return null
  const { skus, gone, found } = await countGone(sql, run)
  const most = found === 0 ? gone > 0 : gone >= MOST_AT_LEAST && 2 * gone > skus
  const withhold = most && !locked.withdraw_most
  if (!withhold) await withdraw(sql, run)
  const counts = withhold ? { withdrawn: 0, withheld: gone } : { withdrawn: gone, withheld: 0 }
  await sql`
    update app.sync_runs
       set status = 'succeeded', finished_at = now(), products = null,
           withdrawn = ${counts.withdrawn}, withheld = ${counts.withheld}
     where id = ${run.id}`
  return counts
}

/** Locks the run and the catalog of its tenant, as for a page. Returns null if the run has not read everything, or has ended. */
async function lockReadRun(sql: TenantTransaction, id: string): Promise<{ readonly withdraw_most: boolean } | null> {
  const [run] = await sql<{ withdraw_most: boolean }>`
    select withdraw_most, pg_advisory_xact_lock(hashtextextended('catalog of ' || tenant_id::text, 0))::text from (
      select tenant_id, withdraw_most from app.sync_runs
       where id = ${id} and status = 'running' and position = cardinality(products) for update
    ) as run`
  return run ?? null
}

/** Returns how many SKUs of the vendor are stored, how many of them the run found, and how many it found no more or without the price that they had. */
async function countGone(sql: TenantTransaction, { vendor, started_at: syncedAt }: Run) {
  const [counts] = await sql<{ skus: number; found: number; gone: number }>`
    select count(*)::integer as skus, (count(*) filter (where is_found))::integer as found,
           (count(*) filter (where is_found is not true or priced <> ${syncedAt}::timestamptz))::integer as gone
      from (select k.synced_at = ${syncedAt}::timestamptz or p.synced_at = ${syncedAt}::timestamptz as is_found, p.synced_at as priced
              from app.variant_skus k
              left join app.vendor_prices p using (tenant_id, variant_id, vendor)
             where tenant_id = (select app.current_tenant()) and vendor = ${vendor}) as sku`
  return counts ?? { skus: 0, found: 0, gone: 0 }
}

async function withdraw(sql: TenantTransaction, { vendor, started_at: syncedAt }: Run): Promise<void> {
  await sql`
    delete from app.vendor_prices
     where tenant_id = (select app.current_tenant()) and vendor = ${vendor} and synced_at <> ${syncedAt}::timestamptz`
  await sql`
    delete from app.variant_skus k
     where tenant_id = (select app.current_tenant()) and vendor = ${vendor}
       and synced_at is distinct from ${syncedAt}::timestamptz
       and not exists (select from app.vendor_prices p
                        where (p.tenant_id, p.variant_id, p.vendor) = (k.tenant_id, k.variant_id, k.vendor))`
  await sql`
    update app.styles
       set vendors = array_remove(vendors, ${vendor}), listed = listed - ${vendor}::text,
           withdrawn_at = case when vendors = array[${vendor}] then now() end
     where tenant_id = (select app.current_tenant()) and vendors @> array[${vendor}]
       and (listed ->> ${vendor}::text)::timestamptz is distinct from ${syncedAt}::timestamptz`
}
