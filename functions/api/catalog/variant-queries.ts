import * as v from 'valibot'
import type { TenantTransaction } from '#shared/db/scope.ts'
import { Id } from '#shared/schema/id.ts'
import type { Key, ListRow } from '#shared/schema/page.ts'
import { SizeRef } from './size.ts'

const example = (text: string) => v.pipe(v.string(), v.examples([text]))

/** A variant of a style. `size` is null where the vendor's text for it does not resolve. */
export const Variant = v.pipe(
  v.object({
    id: Id,
    color: v.pipe(v.nullable(example('Sport Grey')), v.description('Null where the vendor names no color.')),
    size: v.pipe(v.nullable(SizeRef), v.description('Null where the text of the vendor is no known size.')),
    vendor_size: v.pipe(v.nullable(example('XX-LARGE')), v.description('The size in the words of the vendor.')),
    skus: v.array(v.object({ vendor: example('ss-activewear'), sku: example('B00760004') })),
  }),
  v.title('Variant'),
)

export type Variant = Readonly<v.InferOutput<typeof Variant>>

/**
 * Returns up to `limit` + 1 variants of the style that a vendor sells, of the platform and of the tenant, by color, size and the text of
 * the vendor.
 * Sizes that do not resolve come last.
 */
export async function searchVariants(
  sql: TenantTransaction,
  { styleId, after, limit }: { styleId: string; after: Key | null; limit: number },
): Promise<ListRow<Variant>[]> {
  const [sortKey, id] = after ?? [null, null]
  // No color and no text contains chr(1), so the key sorts as its parts do.
  const rows = await sql<Variant & { readonly sort_key: string }>`
    select * from (
      select v.id, v.color, v.vendor_size,
             case when z.id is not null then json_build_object('id', z.id, 'code', z.code) end as size,
             (select json_agg(json_build_object('vendor', k.vendor, 'sku', k.sku) order by k.vendor, k.sku)
                from app.variant_skus k where k.variant_id = v.id) as skus,
             coalesce(v.color::text, '') || chr(1) || to_char(coalesce(z.position, 32767), 'FM00000')
               || chr(1) || coalesce(v.vendor_size::text, '') as sort_key
        from app.variants v
        left join app.sizes z on z.id = v.size_id
       where v.style_id = ${styleId}) as variant
     where skus is not null
       and (${sortKey}::text is null or (sort_key collate "C", id) > (${sortKey}::text, ${id}::uuid))
     order by sort_key collate "C", id
     limit ${limit + 1}`
  return rows.map(({ sort_key, ...item }) => ({ item, key: [sort_key, item.id] }))
}
