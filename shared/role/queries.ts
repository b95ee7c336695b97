import type { Sql } from '#shared/db/connect.ts'
import type { Role } from '#shared/role/role.ts'

/** Returns the role of the platform or of the tenant with this code, or null. */
export async function findRole(sql: Sql, code: string): Promise<Role | null> {
  const [role] =
    await sql<Role>`select id, code, label, rank from app.roles where code = ${code} and deleted_at is null`
  return role ?? null
}
