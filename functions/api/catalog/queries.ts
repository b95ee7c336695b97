import * as v from 'valibot'
import type { TenantTransaction } from '#shared/db/scope.ts'
import { BEGINNING, type Key, type ListRow } from '#shared/schema/page.ts'
import { Id } from '#shared/schema/id.ts'

/** A style of the catalog. `vendors` are the codes of the vendors that sell it. */
export const Style = v.pipe(
  v.object({
    id: Id,
    style_number: v.pipe(v.string(), v.examples(['2000'])),
    name: v.pipe(v.string(), v.examples(['Ultra Cotton T-Shirt'])),
    brand: v.pipe(v.string(), v.examples(['Gildan'])),
    category: v.pipe(v.string(), v.examples(['T-Shirts'])),
    vendors: v.array(v.pipe(v.string(), v.examples(['ss-activewear']))),
  }),
  v.title('Style'),
)

export type Style = Readonly<v.InferOutput<typeof Style>>

export interface StyleSearch {
  readonly q: string | null
  readonly after: Key | null
  readonly limit: number
}

// A dash negates the next word. Postgres fails on more than 32 dashes in a row ("tsquery stack too small"), so this removes
// every dash without a word after it.
const searchable = (q: string): string => q.replace(/-(?![\p{L}\p{N}"])/gu, ' ')

/**
 * Returns the styles of the platform and of the tenant that contain all words of `q`, or whose number has `q` in it.
 * Ordered by style number: up to `limit` + 1 of them. Without a search it reads at most `limit` + 1 of each.
 */
export async function searchStyles(
  sql: TenantTransaction,
  { q, after, limit }: StyleSearch,
): Promise<ListRow<Style>[]> {
  const part =
    q === null
      ? null
      : `%${q
          .trim()
          // Only ASCII, as the search lowers the numbers.
          .replace(/[A-Z]/g, (letter) => letter.toLowerCase())
          .replace(/[\\%_]/g, '\\$&')}%`
  const words = q === null ? null : searchable(q)
  const [number, id] = after ?? ['', BEGINNING[1]]
  const rows = await sql<Style>`select * from app.search_styles(${words}, ${part}, ${number}, ${id}, ${limit + 1})`
  return rows.map((item) => ({ item, key: [item.style_number, item.id] }))
}

/** Returns the style of the platform or of the tenant, or null. */
export async function findStyle(sql: TenantTransaction, id: string): Promise<Style | null> {
  const [style] = await sql<Style>`
    select id, style_number, name, brand, category, to_jsonb(vendors) as vendors from app.styles where id = ${id}`
  return style ?? null
}
