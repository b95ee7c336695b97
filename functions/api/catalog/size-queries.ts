import type { TenantTransaction } from '#shared/db/scope.ts'
import type { Size, SizeRef } from './size.ts'

/** Returns all sizes, smallest first. */
export const findSizes = (sql: TenantTransaction): Promise<Size[]> =>
  sql<Size>`
    select s.id, s.code, s.position,
           (select json_agg(a.alias order by a.alias collate "C") from app.size_aliases a where a.size_id = s.id) as aliases
      from app.sizes s
     order by s.position`

/** Returns the size with this alias, or null. */
export async function findSizeOf(sql: TenantTransaction, alias: string): Promise<SizeRef | null> {
  const [size] = await sql<SizeRef>`select id, code from app.sizes where id = app.resolve_size(${alias})`
  return size ?? null
}
