import type { TenantTransaction } from '#shared/db/scope.ts'
import type { ListedRole } from '#shared/identity/listed-role.ts'
import type { Permission } from '#shared/identity/permissions.ts'
import { searchRoles } from '#shared/identity/role-queries.ts'

/** Returns the role with this id, which must exist. */
export async function requireRole(sql: TenantTransaction, id: number): Promise<ListedRole> {
  const [role] = await searchRoles(sql, id)
  if (role === undefined) throw new Error('the role is gone')
  return role
}

/** Returns the id of the new role. */
export async function insertRole(
  sql: TenantTransaction,
  { code, label, base }: { code: string; label: string; base: ListedRole },
): Promise<number> {
  const [row] = await sql<{ id: number }>`
    insert into app.roles (tenant_id, code, label, rank, based_on)
    values (app.current_tenant(), ${code}, ${label}, ${base.rank}::integer, ${base.id}::integer)
    returning id`
  if (row === undefined) throw new Error('the role was not inserted')
  return row.id
}

/** Whether a role but `own`, or one of the other names, has this label. Case does not count. */
export async function isLabelTaken(
  sql: TenantTransaction,
  { label, others, own }: { label: string; others: readonly string[]; own: number | null },
): Promise<boolean> {
  const [row] = await sql<{ taken: boolean }>`
    select ${label}::text collate app.case_insensitive in (
             select r.label collate app.case_insensitive from app.roles r
              where r.deleted_at is null and r.id is distinct from ${own}::integer
             union all
             select o collate app.case_insensitive from jsonb_array_elements_text(${JSON.stringify(others)}::text::jsonb) o) as taken`
  return row?.taken ?? true
}

export async function setLabel(sql: TenantTransaction, id: number, label: string): Promise<void> {
  await sql`update app.roles set label = ${label} where id = ${id}::integer`
}

/** Replaces the permissions that a role of the tenant adds to those of its base. */
export async function replaceAdded(sql: TenantTransaction, id: number, added: readonly Permission[]): Promise<void> {
  await sql`delete from app.role_permissions where role_id = ${id}::integer`
  await addPermissions(sql, id, added)
}

/** Gives permissions to a role that adds none yet. */
export async function addPermissions(sql: TenantTransaction, id: number, added: readonly Permission[]): Promise<void> {
  await sql`
    insert into app.role_permissions (tenant_id, role_id, permission)
    select distinct app.current_tenant(), ${id}::integer, permission from jsonb_array_elements_text(${JSON.stringify(added)}::text::jsonb) permission`
}

/** Whether somebody holds the role, is invited to it, or has an open invitation for it. */
export async function isInUse(sql: TenantTransaction, id: number): Promise<boolean> {
  const [row] = await sql<{ used: boolean }>`
    select exists (select from app.memberships where role_id = ${id}::integer and revoked_at is null)
        or exists (select from app.invitations where role_id = ${id}::integer) as used`
  return row?.used ?? true
}

/** Hides a role. Its row stays for former members. */
export async function hideRole(sql: TenantTransaction, id: number): Promise<void> {
  await sql`update app.roles set deleted_at = now() where id = ${id}::integer`
}
