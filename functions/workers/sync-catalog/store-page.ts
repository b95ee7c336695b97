import type { TenantTransaction } from '#shared/db/scope.ts'
import type { Money } from '#shared/schema/money.ts'
import type { VendorStyle } from '#shared/suppliers/vendor-catalog.ts'
import type { SyncRun } from './queries.ts'

/** How many SKUs one statement stores. */
const BATCH = 1000

/** SKUs that the catalog did not have, and prices that rose and fell. */
const CHANGES = ['added', 'dearer', 'cheaper'] as const
type Changes = Readonly<Record<(typeof CHANGES)[number], number>>

/** A SKU with its style, as `app.variants` needs it. */
interface Row {
  readonly n: number
  readonly sku: string
  readonly brand: string
  readonly number: string
  readonly color: string | null
  readonly size: string | null
  readonly price: Money | null
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
  await storeStyles(sql, run, styles)
  const rows: Row[] = []
  for (const { brand, styleNumber: number, skus } of styles)
    for (const { sku, color, size, price, currency } of skus)
      rows.push({ n: rows.length, sku, brand, number, color, size, price, currency })
  const unresolved = new Set<string>()
  const changes = { added: 0, dearer: 0, cheaper: 0 }
  for (let from = 0; from < rows.length; from += BATCH) {
    const stored = await storeVariants(sql, run, rows.slice(from, from + BATCH))
    for (const text of stored.unresolved) unresolved.add(text)
    for (const what of CHANGES) changes[what] += stored[what]
  }
  await recordProgress(sql, run.id, {
    next,
    read: [styles.length, rows.length, rows.filter(({ price }) => price !== null).length],
    unresolved: [...unresolved],
    changes,
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

/** Stores the styles that the platform does not have. The first vendor of a style names it. A withdrawn style comes back. */
async function storeStyles(
  sql: TenantTransaction,
  { vendor, started_at: syncedAt }: Pick<SyncRun, 'vendor' | 'started_at'>,
  styles: readonly VendorStyle[],
): Promise<void> {
  const rows = styles.map(({ styleNumber, name, brand, category }) => ({ styleNumber, name, brand, category }))
  await sql`
    insert into app.styles (tenant_id, style_number, name, brand, category, vendors, listed)
    select distinct on (s.brand, s."styleNumber")
           (select app.current_tenant()), s."styleNumber", s.name, s.brand, s.category, array[${vendor}],
           jsonb_build_object(${vendor}::text, ${syncedAt}::timestamptz)
      from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
           as s("styleNumber" text collate app.case_insensitive, name text, brand text, category text)
     where not exists (select from app.styles p
                        where p.tenant_id is null and p.brand = s.brand and p.style_number = s."styleNumber")
        on conflict (tenant_id, brand, style_number) do update
       set vendors = case when styles.vendors @> excluded.vendors then styles.vendors else styles.vendors || excluded.vendors end,
           listed = styles.listed || excluded.listed, withdrawn_at = null
     where not (styles.vendors @> excluded.vendors and styles.listed @> excluded.listed and styles.withdrawn_at is null)`
}

/** Stores the variants, SKUs and prices of rows whose styles are stored. Returns what it changed, and the sizes that do not resolve. */
async function storeVariants(
  sql: TenantTransaction,
  { vendor, started_at: syncedAt }: Pick<SyncRun, 'vendor' | 'started_at'>,
  rows: readonly Row[],
): Promise<Changes & { readonly unresolved: readonly string[] }> {
  // Of rows with one SKU the last wins, and then of rows with one variant: a vendor has one SKU on a variant. `own` is the SKU
  // that the variant has, `other` the place that the row's SKU had. A lookup is lateral with `offset 0`, and names no column of
  // a second index, so that it uses the index of its key before Postgres has statistics: else each page reads all SKUs.
  const [stored] = await sql<{
    rows: string
    missing: string
    again: string
    stale: string[]
    unresolved: string[]
    added: number
  }>`
    with row as (
      select distinct on (sku) *
        from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
             as r(n integer, sku text, brand text, number text collate app.case_insensitive, color text, size text, price text, currency text)
       order by sku, n desc
    ), size as materialized (
      select size, app.resolve_size(size) as size_id from (select distinct size from row) as each
    ), style as materialized (
      select brand, number, s.id as style_id, s.scope as style_scope
        from (select distinct brand, number from row) as each, lateral (
          (select id, scope from app.styles where tenant_id is null and brand = each.brand and style_number = each.number)
           union all
          (select id, scope from app.styles
            where tenant_id = (select app.current_tenant()) and brand = each.brand and style_number = each.number)
           limit 1) as s
    ), kept as materialized (
      select distinct on (style_id, color, size_id, unresolved)
             style_id, style_scope, color, size.size_id, row.size, unresolved, sku, price, currency
        from row
        join style using (brand, number)
        join size on size.size is not distinct from row.size
        cross join lateral (select case when size.size_id is null then row.size end as unresolved) as text
       order by style_id, color, size_id, unresolved, n desc
    ), found as materialized (
      select kept.*, v.id is null as is_new, coalesce(v.id, gen_random_uuid()) as id
        from kept left join lateral (
          select id from app.variants
           where tenant_id = (select app.current_tenant()) and style_id = kept.style_id
             and color is not distinct from kept.color and size_id is not distinct from kept.size_id
             and unresolved is not distinct from kept.unresolved
          offset 0) as v on true
    ), added as (
      insert into app.variants (id, tenant_id, style_id, style_scope, color, size_id, vendor_size)
      select id, (select app.current_tenant()), style_id, style_scope, color, size_id, size from found where is_new
    ), placed as (
      select found.*, own.id as own_id, own.sku as own_sku, own.synced_at, other.id as other_id
        from found
        left join lateral (
          select id, vendor, k.sku, k.synced_at from app.variant_skus k
           where tenant_id = (select app.current_tenant()) and variant_id = found.id
          offset 0) as own on own.vendor = ${vendor}
        left join lateral (
          select id from app.variant_skus k
           where own.sku is distinct from found.sku
             and tenant_id = (select app.current_tenant()) and vendor = ${vendor} and k.sku = found.sku
          offset 0) as other on true
    )
    select coalesce(jsonb_agg(jsonb_build_object('id', id, 'price', price, 'currency', currency))
                      filter (where price is not null), '[]')::text as rows,
           coalesce(jsonb_agg(jsonb_build_object('id', id, 'sku', sku))
                      filter (where own_sku is distinct from sku), '[]')::text as missing,
           coalesce(jsonb_agg(id) filter (where own_sku = sku and synced_at is distinct from ${syncedAt}::timestamptz
                                             and (price is null or round(price::numeric, 4) >= 1e10)), '[]')::text as again,
           to_jsonb(array_remove(array_agg(other_id) || array_agg(case when own_sku <> sku then own_id end), null)) as stale,
           to_jsonb(array_remove(array_agg(distinct unresolved), null)) as unresolved,
           (count(*) filter (where own_sku is distinct from sku and other_id is null))::integer as added
      from placed`
  if (stored === undefined) throw new Error('an aggregate returned no row')
  if (stored.stale.length > 0) await removeSkus(sql, vendor, stored.stale)
  if (stored.missing !== '[]') await insertSkus(sql, { vendor, syncedAt, rows: stored.missing })
  if (stored.again !== '[]') await markSkus(sql, { vendor, syncedAt, rows: stored.again })
  const priced = await storePrices(sql, { vendor, syncedAt, rows: stored.rows })
  return { ...priced, added: stored.added, unresolved: stored.unresolved }
}

/** Removes SKUs from their variants, which lose their prices. */
async function removeSkus(sql: TenantTransaction, vendor: string, ids: readonly string[]): Promise<void> {
  await sql`
    with moved as (
      delete from app.variant_skus
       where id in (select jsonb_array_elements_text(${JSON.stringify(ids)}::text::jsonb)::uuid)
      returning variant_id)
    delete from app.vendor_prices
     where tenant_id = (select app.current_tenant()) and vendor = ${vendor} and variant_id in (select variant_id from moved)`
}

/** What a statement stores of a vendor, as JSON, at the time of the run. */
interface VendorRows {
  readonly vendor: string
  readonly syncedAt: string
  readonly rows: string
}

async function insertSkus(sql: TenantTransaction, { vendor, syncedAt, rows }: VendorRows): Promise<void> {
  await sql`
    insert into app.variant_skus (tenant_id, variant_id, variant_scope, vendor, sku, synced_at)
    select tenant.id, r.id, tenant.id, ${vendor}, sku, ${syncedAt}::timestamptz
      from jsonb_to_recordset(${rows}::text::jsonb) as r(id uuid, sku text), (select app.current_tenant() as id offset 0) as tenant`
}

/**
 * Marks the SKUs of these variants as found by the run, for those whose price does not say so. Finds them as storeVariants does, by the key of their index: Postgres would read
 * all SKUs of the tenant for a list of ids. The lock on the catalog keeps their places.
 */
async function markSkus(sql: TenantTransaction, { vendor, syncedAt, rows }: VendorRows): Promise<void> {
  await sql`
    update app.variant_skus set synced_at = ${syncedAt}::timestamptz
     where ctid = any (array(
       select own.ctid
         from jsonb_array_elements_text(${rows}::text::jsonb) as r (id)
        cross join lateral (
          select k.ctid, k.vendor from app.variant_skus k
           where tenant_id = (select app.current_tenant()) and variant_id = r.id::uuid
          offset 0) as own
        where own.vendor = ${vendor}))`
}

/** Stores prices. Returns how many rose and how many fell. */
async function storePrices(
  sql: TenantTransaction,
  { vendor, syncedAt, rows }: VendorRows,
): Promise<Omit<Changes, 'added'>> {
  const [counts] = await sql<Omit<Changes, 'added'>>`
    with sent as materialized (
      select tenant.id as tenant_id, r.id, round(price, 4) as price, r.currency, was.unit_price as old
        from jsonb_to_recordset(${rows}::text::jsonb) as r(id uuid, price numeric, currency text)
       cross join (select app.current_tenant() as id offset 0) as tenant
        left join lateral (
          select p.vendor, p.unit_price, p.currency from app.vendor_prices p
           where p.tenant_id = tenant.id and p.variant_id = r.id
          offset 0) as was on was.vendor = ${vendor} and was.currency = r.currency
       where round(price, 4) < 1e10
    ), stored as (
    insert into app.vendor_prices as p (tenant_id, variant_id, variant_scope, vendor, unit_price, currency, synced_at)
    select tenant_id, id, tenant_id, ${vendor}, price, currency, ${syncedAt}::timestamptz from sent
        on conflict (tenant_id, variant_id, vendor) do update
       set unit_price = excluded.unit_price, currency = excluded.currency, synced_at = excluded.synced_at
     where (p.unit_price, p.currency, p.synced_at) is distinct from (excluded.unit_price, excluded.currency, excluded.synced_at))
    select (count(*) filter (where price > old))::integer as dearer, (count(*) filter (where price < old))::integer as cheaper
      from sent`
  return counts ?? { dearer: 0, cheaper: 0 }
}

/** Adds a page to the run: the next position, and how many styles, SKUs and prices it read. */
async function recordProgress(
  sql: TenantTransaction,
  id: string,
  page: { next: number; read: readonly [number, number, number]; unresolved: readonly string[]; changes: Changes },
): Promise<void> {
  const [styles, skus, priced] = page.read
  const { added, dearer, cheaper } = page.changes
  await sql`
    update app.sync_runs
       set position = ${page.next}, styles = styles + ${styles}, variants = variants + ${skus},
           prices = prices + ${priced}, added = added + ${added}, dearer = dearer + ${dearer},
           cheaper = cheaper + ${cheaper}, touched_at = now(), takes = 0,
           unresolved = array(select unnest(unresolved) union
                              select jsonb_array_elements_text(${JSON.stringify(page.unresolved)}::text::jsonb))
     where id = ${id}`
}
