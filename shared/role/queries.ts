import type { Sql } from '#shared/db/connect.ts'
import type { Role } from '#shared/role/role.ts'

/** Returns the role with this code, or null. */
export async function findRole(sql: Sql, code: string): Promise<Role | null> {
  const [role] = await sql<Role>`select id, code, label, rank from app.roles where code = ${code}`
  return role ?? null
}
