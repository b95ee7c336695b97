import type { TenantSql } from '#shared/db/scope.ts'

export interface Style {
  readonly id: string
  readonly style_number: string
  readonly name: string
  readonly brand: string
  readonly category: string
  readonly vendors: string[]
}

export interface StyleSearch {
  readonly q: string | null
  readonly after: readonly [styleNumber: string, id: string] | null
  readonly limit: number
}

// A dash negates the word behind it. Postgres gives up on more than 32 in a row («tsquery stack too small»), so a dash
// with no word behind it goes.
const searchable = (q: string): string => q.replace(/-(?![\p{L}\p{N}"])/gu, ' ')

/**
 * The platform's styles and the tenant's own that hold all words of `q` or whose number begins with it, by style number;
 * one row more than `limit`, if there is one.
 */
export function searchStyles(sql: TenantSql, { q, after, limit }: StyleSearch): Promise<Style[]> {
  const prefix =
    q === null
      ? null
      : `${q
          .trim()
          .toLowerCase()
          .replace(/[\\%_]/g, '\\$&')}%`
  return sql<Style>`
    select id, style_number, name, brand, category, to_jsonb(vendors) as vendors
      from app.styles
     where (${q}::text is null
            or search @@ websearch_to_tsquery('english', ${q === null ? null : searchable(q)}::text)
            or lower(style_number collate "C") like ${prefix}::text)
       and (${after?.[0] ?? null}::text is null
            or (style_number collate "C", id) > (${after?.[0] ?? null}::text, ${after?.[1] ?? null}::uuid))
     order by style_number collate "C", id
     limit ${limit + 1}`
}
