import type { TenantTransaction } from '#shared/db/scope.ts'
import { END, type Key, type ListRow } from '#shared/schema/page.ts'
import { MOST_UNKNOWN_SIZES, type SyncRun } from './sync-run.ts'

// Longer than a run can be without a worker, until its last worker abandons it.
const ABANDONED_AFTER_MINUTES = 15

interface Search {
  readonly id?: string
  readonly vendor?: string
  readonly before?: Key | null
  readonly limit?: number
}

/** Returns up to `limit` + 1 sync runs of the tenant, newest first. */
export async function searchRuns(sql: TenantTransaction, search: Search): Promise<ListRow<SyncRun>[]> {
  const { id = null, vendor = null, limit = 1 } = search
  const [createdAt, runId] = search.before ?? END
  const rows = await sql<SyncRun & { readonly sort_key: string }>`
    select r.id, json_build_object('code', v.code, 'name', v.name) as vendor, r.vendor_account_id,
           json_build_object('label', a.label, 'account_number', a.account_number, 'status', a.status) as vendor_account, r.status, r.started_by,
           r.created_at, r.started_at, r.finished_at, r.position as products_read,
           r.total as products_total, r.styles, r.variants, r.prices, r.unresolved_sizes, r.added, r.dearer, r.cheaper, r.withdrawn, r.withheld, r.error,
           to_json(r.created_at) as sort_key
      from app.sync_runs r
      join app.vendors v on v.code = r.vendor
      join app.vendor_accounts a on a.id = r.vendor_account_id and a.tenant_id = r.tenant_id
     where r.tenant_id = (select app.current_tenant())
       and (${id}::uuid is null or r.id = ${id}::uuid)
       and (${vendor}::text is null or r.vendor = ${vendor}::text)
       and (r.created_at, r.id) < (${createdAt}::text::timestamptz, ${runId}::uuid)
     order by r.created_at desc, r.id desc
     limit ${limit + 1}`
  return rows.map(({ sort_key, ...item }) => ({ item, key: [sort_key, item.id] }))
}

/** Returns the run with this id, or null. */
export async function findRun(sql: TenantTransaction, id: string): Promise<SyncRun | null> {
  const [found] = await searchRuns(sql, { id })
  return found?.item ?? null
}

/** Returns the texts of sizes that a run could not resolve, in their order. */
export async function findUnknownSizes(sql: TenantTransaction, id: string): Promise<string[]> {
  const rows = await sql<{ size: string }>`
    select size from app.sync_runs r, unnest(r.unresolved) as size
     where r.id = ${id} and r.tenant_id = (select app.current_tenant())
     order by size collate "C" limit ${MOST_UNKNOWN_SIZES}`
  return rows.map(({ size }) => size)
}

/** Returns the vendor of an account that has a secret, or null. */
export async function findVendorOfAccount(sql: TenantTransaction, accountId: string): Promise<string | null> {
  const [account] = await sql<{ vendor: string }>`
    select vendor from app.vendor_accounts
     where id = ${accountId} and tenant_id = (select app.current_tenant()) and status <> 'revoked'`
  return account?.vendor ?? null
}

/**
 * Inserts a queued run and returns its id. Returns null if the tenant has an active run of this vendor: waits for a
 * concurrent insert until it commits.
 */
export async function insertRun(
  sql: TenantTransaction,
  run: { vendor: string; accountId: string; withdrawMost: boolean },
): Promise<string | null> {
  const [inserted] = await sql<{ id: string }>`
    insert into app.sync_runs (tenant_id, vendor, vendor_account_id, withdraw_most)
    values (app.current_tenant(), ${run.vendor}, ${run.accountId}, ${run.withdrawMost})
        on conflict (tenant_id, vendor) where status in ('queued', 'running') do nothing
    returning id`
  return inserted?.id ?? null
}

/** Returns the id of the tenant's active run of this vendor, or null. */
export async function findActiveRun(sql: TenantTransaction, vendor: string): Promise<string | null> {
  const [active] = await sql<{ id: string }>`
    select id from app.sync_runs
     where tenant_id = (select app.current_tenant()) and vendor = ${vendor} and status in ('queued', 'running')`
  return active?.id ?? null
}

/** Ends the active run of this vendor if no worker has had it for long. Returns its id, or null. */
export async function abandonRun(sql: TenantTransaction, vendor: string): Promise<string | null> {
  const [abandoned] = await sql<{ id: string }>`
    update app.sync_runs set status = 'failed', error = 'abandoned', finished_at = now()
     where tenant_id = (select app.current_tenant()) and vendor = ${vendor} and status in ('queued', 'running')
       and touched_at < now() - make_interval(mins => ${ABANDONED_AFTER_MINUTES})
    returning id`
  return abandoned?.id ?? null
}
