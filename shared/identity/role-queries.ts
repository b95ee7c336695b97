import type { Sql } from '#shared/db/connect.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'
import type { ListedRole } from '#shared/identity/listed-role.ts'
import type { Role } from '#shared/identity/role.ts'

/** Returns the role of the platform or of the tenant with this code, or null. */
export async function findRole(sql: Sql, code: string): Promise<Role | null> {
  const [role] =
    await sql<Role>`select id, code, label, rank from app.roles where code = ${code} and deleted_at is null`
  return role ?? null
}

/** Returns what a role permits, also a deleted one. */
export async function findPermissions(sql: TenantTransaction, id: number): Promise<ListedRole['permissions']> {
  const [role] = await sql<Pick<ListedRole, 'permissions'>>`
    select permissions from app.roles where id = ${id}::integer`
  if (role === undefined) throw new Error('the role is gone')
  return role.permissions
}

/** Returns the roles of the platform and those of the tenant, the highest rank first, or the one with this id. */
export function searchRoles(sql: TenantTransaction, id: number | null = null): Promise<ListedRole[]> {
  return sql<ListedRole>`
    select r.id, r.code, r.label, r.rank, r.tenant_id is not null as tenant_role, b.code as based_on,
           r.permissions
      from app.roles r
      left join app.roles b on b.id = r.based_on
     where r.deleted_at is null and (${id}::integer is null or r.id = ${id}::integer)
     order by r.rank desc, r.id`
}
