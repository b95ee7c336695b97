import * as v from 'valibot'
import type { TenantTransaction } from '#shared/db/scope.ts'
import { Id } from '#shared/schema/id.ts'
import { UnitPrice } from '#shared/schema/money.ts'
import type { Key, ListRow } from '#shared/schema/page.ts'
import { Timestamp } from '#shared/schema/timestamp.ts'

/** A price that the tenant negotiated with a vendor, as of its latest sync run. */
export const VendorPrice = v.pipe(
  v.object({
    variant_id: Id,
    vendor: v.pipe(v.string(), v.examples(['ss-activewear'])),
    unit_price: UnitPrice,
    currency: v.pipe(v.string(), v.examples(['USD'])),
    synced_at: Timestamp,
  }),
  v.title('VendorPrice'),
)

export type VendorPrice = Readonly<v.InferOutput<typeof VendorPrice>>

/** Returns up to `limit` + 1 prices of the style's variants, by vendor. */
export async function searchPrices(
  sql: TenantTransaction,
  { styleId, after, limit }: { styleId: string; after: Key | null; limit: number },
): Promise<ListRow<VendorPrice>[]> {
  const [vendor, variantId] = after ?? [null, null]
  const rows = await sql<VendorPrice>`
    select p.variant_id, p.vendor, p.unit_price, p.currency, p.synced_at
      from app.vendor_prices p
      join app.variants v on v.scope = p.variant_scope and v.id = p.variant_id
     where p.tenant_id = (select app.current_tenant()) and v.style_id = ${styleId}
       and (${vendor}::text is null or (p.vendor collate "C", p.variant_id) > (${vendor}::text, ${variantId}::uuid))
     order by p.vendor collate "C", p.variant_id
     limit ${limit + 1}`
  return rows.map((item) => ({ item, key: [item.vendor, item.variant_id] }))
}
