import type { TenantTransaction } from '#shared/db/scope.ts'
import type { VendorStyle } from '#shared/vendor/vendor-catalog.ts'
import type { SyncRun } from './queries.ts'

/** How many SKUs one statement stores. */
const BATCH = 1000

/** A SKU with its style, as `app.variants` needs it. */
interface Row {
  readonly n: number
  readonly sku: string
  readonly brand: string
  readonly number: string
  readonly color: string | null
  readonly size: string | null
  readonly price: string | null
  readonly currency: string
}

/**
 * Stores a page of products, and in the same transaction that the run has read it. Storing a page again changes nothing.
 * Returns false, and stores nothing, if another worker has stored it or the run has ended.
 */
export async function storePage(
  sql: TenantTransaction,
  run: Pick<SyncRun, 'id' | 'vendor' | 'started_at'>,
  { styles, position, next }: { styles: readonly VendorStyle[]; position: number; next: number },
): Promise<boolean> {
  if (!(await lockRun(sql, run.id, position))) return false
  await storeStyles(sql, run.vendor, styles)
  const rows: Row[] = []
  for (const { brand, styleNumber: number, skus } of styles)
    for (const { sku, color, size, price, currency } of skus)
      rows.push({ n: rows.length, sku, brand, number, color, size, price, currency })
  const unresolved = new Set<string>()
  for (let from = 0; from < rows.length; from += BATCH) {
    for (const text of await storeVariants(sql, run, rows.slice(from, from + BATCH))) unresolved.add(text)
  }
  await recordProgress(sql, run.id, {
    next,
    read: [styles.length, rows.length, rows.filter(({ price }) => price !== null).length],
    unresolved: [...unresolved],
  })
  return true
}

/**
 * Locks the run, and the catalog of the tenant: two vendors that store one style at the same time would deadlock. Returns
 * false if the run is not at this position.
 */
async function lockRun(sql: TenantTransaction, id: string, position: number): Promise<boolean> {
  const locked = await sql`
    select pg_advisory_xact_lock(hashtextextended('catalog of ' || tenant_id::text, 0)) from (
      select tenant_id from app.sync_runs where id = ${id} and status = 'running' and position = ${position} for update
    ) as run`
  return locked.length > 0
}

/** Stores the styles that the platform does not have. The first vendor of a style names it. */
async function storeStyles(sql: TenantTransaction, vendor: string, styles: readonly VendorStyle[]): Promise<void> {
  const rows = styles.map(({ styleNumber, name, brand, category }) => ({ styleNumber, name, brand, category }))
  await sql`
    insert into app.styles (tenant_id, style_number, name, brand, category, vendors)
    select distinct on (s.brand, s."styleNumber")
           app.current_tenant(), s."styleNumber", s.name, s.brand, s.category, array[${vendor}]
      from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
           as s("styleNumber" text collate app.case_insensitive, name text, brand text, category text)
     where not exists (select from app.styles p
                        where p.tenant_id is null and p.brand = s.brand and p.style_number = s."styleNumber")
        on conflict (tenant_id, brand, style_number) do update
       set vendors = styles.vendors || excluded.vendors
     where not styles.vendors @> excluded.vendors`
}

/** Stores the variants, SKUs and prices of rows whose styles are stored. Returns the sizes that do not resolve. */
async function storeVariants(
  sql: TenantTransaction,
  { vendor, started_at: syncedAt }: Pick<SyncRun, 'vendor' | 'started_at'>,
  rows: readonly Row[],
): Promise<readonly string[]> {
  const text = JSON.stringify(rows)
  // Of rows with one SKU the last wins, and then of rows with one variant: a vendor has one SKU on a variant.
  const kept = await sql<{ row: Row & { size_id: number | null; style_id: string; style_scope: string } }>`
    with row as (
      select distinct on (r.sku) r.*, app.resolve_size(r.size) as size_id
        from jsonb_to_recordset(${text}::text::jsonb)
             as r(n integer, sku text, brand text, number text collate app.case_insensitive, color text, size text, price text, currency text)
       order by r.sku, r.n desc
    ), known as (
      select distinct on (row.n) row.*, s.id as style_id, s.scope as style_scope
        from row join app.styles s on s.brand = row.brand and s.style_number = row.number
       order by row.n, s.tenant_id nulls first
    )
    select distinct on (style_id, color, size_id, unresolved) to_jsonb(known) as row
      from known, lateral (select case when size_id is null then size end as unresolved) as text
     order by style_id, color, size_id, unresolved, n desc`
  const variants = JSON.stringify(kept.map(({ row }) => row))
  await sql`
    insert into app.variants (tenant_id, style_id, style_scope, color, size_id, vendor_size)
    select app.current_tenant(), style_id, style_scope, color, size_id, size
      from jsonb_to_recordset(${variants}::text::jsonb)
           as r(style_id uuid, style_scope uuid, color text, size_id smallint, size text)
        on conflict do nothing`
  const stored = await sql<{ row: object }>`
    select jsonb_build_object('id', v.id, 'scope', v.scope, 'sku', r.sku, 'price', r.price, 'currency', r.currency) as row
      from jsonb_to_recordset(${variants}::text::jsonb)
           as r(style_id uuid, color text, size_id smallint, size text, sku text, price text, currency text)
      join app.variants v
        on v.style_id = r.style_id and v.tenant_id = (select app.current_tenant())
       and coalesce(v.color, '') = coalesce(r.color, '')
       and coalesce(v.size_id, 0) = coalesce(r.size_id, 0)
       and coalesce(v.unresolved, '') = case when r.size_id is null then coalesce(r.size, '') else '' end`
  await storeSkus(sql, { vendor, syncedAt, rows: JSON.stringify(stored.map(({ row }) => row)) })
  return kept.flatMap(({ row }) => (row.size_id === null && row.size !== null ? [row.size] : []))
}

/** Gives the variants their SKUs and prices. A SKU that was on another variant leaves it, with its price. */
async function storeSkus(
  sql: TenantTransaction,
  { vendor, syncedAt, rows }: { vendor: string; syncedAt: Date; rows: string },
): Promise<void> {
  await sql`
    with row as (select * from jsonb_to_recordset(${rows}::text::jsonb) as r(id uuid, sku text)),
    moved as (
      delete from app.variant_skus k
       where k.tenant_id = (select app.current_tenant()) and k.vendor = ${vendor}
         and (k.sku in (select sku from row) or k.variant_id in (select id from row))
         and (k.variant_id, k.sku::text) not in (select id, sku from row)
      returning k.variant_id)
    delete from app.vendor_prices p
     where p.tenant_id = (select app.current_tenant()) and p.vendor = ${vendor}
       and p.variant_id in (select variant_id from moved)`
  await sql`
    insert into app.variant_skus (tenant_id, variant_id, variant_scope, vendor, sku)
    select app.current_tenant(), id, scope, ${vendor}, sku
      from jsonb_to_recordset(${rows}::text::jsonb) as r(id uuid, scope uuid, sku text)
        on conflict do nothing`
  await sql`
    insert into app.vendor_prices as p (tenant_id, variant_id, variant_scope, vendor, unit_price, currency, synced_at)
    select app.current_tenant(), id, scope, ${vendor}, round(price, 4), currency, ${syncedAt}
      from jsonb_to_recordset(${rows}::text::jsonb) as r(id uuid, scope uuid, price numeric, currency text)
     where round(price, 4) < 1e10
        on conflict (tenant_id, variant_id, vendor) do update
       set unit_price = excluded.unit_price, currency = excluded.currency, synced_at = excluded.synced_at
     where (p.unit_price, p.currency, p.synced_at) is distinct from (excluded.unit_price, excluded.currency, excluded.synced_at)`
}

/** Adds a page to the run: the next position, and how many styles, SKUs and prices it read. */
async function recordProgress(
  sql: TenantTransaction,
  id: string,
  page: { next: number; read: readonly [number, number, number]; unresolved: readonly string[] },
): Promise<void> {
  const [styles, skus, priced] = page.read
  await sql`
    update app.sync_runs
       set position = ${page.next}, styles = styles + ${styles}, variants = variants + ${skus},
           prices = prices + ${priced}, touched_at = now(), takes = 0,
           unresolved = array(select unnest(unresolved) union
                              select jsonb_array_elements_text(${JSON.stringify(page.unresolved)}::text::jsonb))
     where id = ${id}`
}
