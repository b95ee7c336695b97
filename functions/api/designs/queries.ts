import type { TenantTransaction } from '#shared/db/scope.ts'
import { timestampText } from '#shared/schema/timestamp.ts'
import { END, type Key, type ListRow } from '#shared/schema/page.ts'
import type { Asset, Design, ListedDesign, NewAsset } from './design.ts'

/** Returns an asset that Postgres wrote as JSON. */
const toAsset = (json: Asset): Asset => ({ ...json, created_at: timestampText(json.created_at) })

/** Returns the designs of the tenant with their primary assets, newest first: up to `limit` + 1 of them. */
export async function searchDesigns(
  sql: TenantTransaction,
  { before, limit }: { before: Key | null; limit: number },
): Promise<ListRow<ListedDesign>[]> {
  const [createdAt, id] = before ?? END
  const rows = await sql<ListedDesign & { readonly sort_key: string }>`
    select d.id, d.name, d.approved_at, d.approved_by, d.created_by, d.created_by_key, d.created_at, to_json(d.created_at) as sort_key,
           (select json_build_object('id', a.id, 'file_name', a.file_name, 'media_type', a.media_type,
                     'size_bytes', a.size_bytes, 'sha256', a.sha256, 'is_primary', a.is_primary, 'created_at', a.created_at)
              from app.design_assets a
             where a.tenant_id = d.tenant_id and a.design_id = d.id and a.is_primary) as primary_asset
      from app.designs d
     where d.tenant_id = (select app.current_tenant())
       and (d.created_at, d.id) < (${createdAt}::text::timestamptz, ${id}::uuid)
     order by d.created_at desc, d.id desc
     limit ${limit + 1}`
  return rows.map(({ sort_key, primary_asset: primary, ...design }) => ({
    item: { ...design, primary_asset: primary === null ? null : toAsset(primary) },
    key: [sort_key, design.id],
  }))
}

/** Returns the design with its assets, oldest first, or null. */
export async function findDesign(sql: TenantTransaction, id: string): Promise<Design | null> {
  const [row] = await sql<Design>`
    select d.id, d.name, d.approved_at, d.approved_by, d.created_by, d.created_by_key, d.created_at,
           (select coalesce(json_agg(json_build_object('id', a.id, 'file_name', a.file_name, 'media_type', a.media_type,
                     'size_bytes', a.size_bytes, 'sha256', a.sha256, 'is_primary', a.is_primary, 'created_at', a.created_at)
                     order by a.created_at, a.id), '[]')
              from app.design_assets a
             where a.tenant_id = d.tenant_id and a.design_id = d.id) as assets
      from app.designs d
     where d.id = ${id}`
  return row === undefined ? null : { ...row, assets: row.assets.map(toAsset) }
}

export async function insertDesign(sql: TenantTransaction, { name }: { name: string }): Promise<Design> {
  const [row] = await sql<Omit<Design, 'assets'>>`
    insert into app.designs (tenant_id, name) values (app.current_tenant(), ${name})
    returning id, name, approved_at, approved_by, created_by, created_by_key, created_at`
  if (row === undefined) throw new Error('the design was not inserted')
  return { ...row, assets: [] }
}

/** Locks a design until the transaction ends, so that its changes take turns. Returns it with its assets, or null. */
export async function lockDesign(sql: TenantTransaction, id: string): Promise<Design | null> {
  // Both statements travel together and run in this order, so that the design is read after the lock.
  const [, design] = await Promise.all([
    sql`select from app.designs where id = ${id} for no key update`,
    findDesign(sql, id),
  ])
  return design
}

/** Adds an asset to a locked design. */
export async function insertAsset(
  sql: TenantTransaction,
  asset: NewAsset & { readonly designId: string; readonly isPrimary: boolean },
): Promise<Asset> {
  const [row] = await sql<Asset>`
    insert into app.design_assets (tenant_id, design_id, file_name, media_type, size_bytes, sha256, is_primary)
    values (app.current_tenant(), ${asset.designId}, ${asset.file_name}, ${asset.media_type}, ${asset.size_bytes},
            ${asset.sha256}, ${asset.isPrimary})
    returning id, file_name, media_type, to_json(size_bytes) as size_bytes, sha256, is_primary, created_at`
  if (row === undefined) throw new Error('the asset was not inserted')
  return row
}

/** Makes an asset of a locked design its only primary asset. */
export async function setPrimary(sql: TenantTransaction, designId: string, assetId: string): Promise<void> {
  // Two statements: the unique index refuses a second primary asset also within one.
  await sql`update app.design_assets set is_primary = false where design_id = ${designId} and is_primary`
  await sql`update app.design_assets set is_primary = true where design_id = ${designId} and id = ${assetId}`
}

export async function deleteAsset(sql: TenantTransaction, designId: string, assetId: string): Promise<void> {
  await sql`delete from app.design_assets where design_id = ${designId} and id = ${assetId}`
}

/** Approves the design in the name of the actor, or clears the approval. Returns the time and the user of the approval. */
export async function setApproval(
  sql: TenantTransaction,
  id: string,
  approved: boolean,
): Promise<Pick<Design, 'approved_at' | 'approved_by'>> {
  const [row] = await sql<Pick<Design, 'approved_at' | 'approved_by'>>`
    update app.designs set approved_at = case when ${approved} then now() end
     where id = ${id}
    returning approved_at, approved_by`
  if (row === undefined) throw new Error('the locked design is gone')
  return row
}
