import type { TenantTransaction } from '#shared/db/scope.ts'
import type { SYNC_ERRORS } from '#shared/suppliers/sync-run.ts'

export type SyncError = (typeof SYNC_ERRORS)[number]

/** A run that a worker has taken. */
export interface SyncRun {
  readonly id: string
  readonly tenant_id: string
  readonly vendor: string
  readonly vendor_account_id: string
  readonly started_at: string
  /** The products to read, or null before they are listed. */
  readonly products: readonly string[] | null
  /** How many of them were read. */
  readonly position: number
  /** How often it was taken since the last page. */
  readonly takes: number
}

/** Returns whether people may work in the transaction's tenant. */
export async function tenantIsOpen(sql: TenantTransaction): Promise<boolean> {
  const [tenant] = await sql<{ open: boolean }>`
    select app.is_open(status) as open from app.tenants where id = (select app.current_tenant())`
  return tenant?.open ?? false
}

/** Starts or continues a run. Returns null if it ended. */
export async function takeRun(sql: TenantTransaction, id: string): Promise<SyncRun | null> {
  const [run] = await sql<SyncRun>`
    update app.sync_runs
       set status = 'running', started_at = coalesce(started_at, now()), touched_at = now(), takes = takes + 1
     where id = ${id} and status in ('queued', 'running')
    returning id, tenant_id, vendor, vendor_account_id, started_at, to_jsonb(products) as products, position, takes`
  return run ?? null
}

/** Stores the list of products to read. */
export async function storeProducts(sql: TenantTransaction, id: string, products: readonly string[]): Promise<void> {
  await sql`
    update app.sync_runs
       set products = array(select jsonb_array_elements_text(${JSON.stringify(products)}::text::jsonb)),
           total = ${products.length}, takes = 0
     where id = ${id} and status = 'running' and products is null`
}

/** Ends a run with an error. Returns false if it ended before. */
export async function failRun(sql: TenantTransaction, id: string, error: SyncError): Promise<boolean> {
  const ended = await sql`
    update app.sync_runs set status = 'failed', error = ${error}, finished_at = now(), products = null
     where id = ${id} and status = 'running'
    returning id`
  return ended.length > 0
}
