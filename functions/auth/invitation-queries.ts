import type { Sql } from '#shared/db/connect.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'

/** The tenant and the role of an invitation. */
export interface InvitationDetails {
  readonly tenant_id: string
  readonly slug: string
  readonly legal_name: string
  readonly open: boolean
  readonly role_code: string
}

export async function findInvitationDetails(
  sql: TenantTransaction,
  tenantId: string,
  roleId: number,
): Promise<InvitationDetails | null> {
  const [details] = await sql<InvitationDetails>`
    select t.id as tenant_id, t.slug, t.legal_name, r.code as role_code,
           t.deleted_at is null and app.is_open(t.status) as open
      from app.tenants t, app.roles r where t.id = ${tenantId} and r.id = ${roleId}::smallint`
  return details ?? null
}

/**
 * Locks the tenant until the transaction ends. Returns whether it is open. Every change of members locks the tenant before
 * any other row.
 */
export async function lockOpenTenant(sql: TenantTransaction, tenantId: string): Promise<boolean> {
  const open = await sql`
    select from app.tenants where id = ${tenantId} and deleted_at is null and app.is_open(status)
       for no key update`
  return open.length > 0
}

/**
 * Locks the inviter's membership until the transaction ends. Returns whether the inviter may still give the role; the
 * platform (null) always may. Requires the lock of the tenant.
 */
export async function lockInviter(
  sql: TenantTransaction,
  { roleId, invitedBy }: { roleId: number; invitedBy: string | null },
): Promise<boolean> {
  if (invitedBy === null) return true
  const inviter = await sql`
    select from app.memberships m
      join app.users u on u.id = m.user_id and u.disabled_at is null
      join app.roles r on r.id = m.role_id
     where m.user_id = ${invitedBy} and m.accepted_at is not null and m.revoked_at is null
       and r.rank >= (select rank from app.roles where id = ${roleId}::smallint)
       and exists (select from app.role_permissions p where p.role_id = m.role_id and p.permission in ('member.manage', '*'))
       for share of m`
  return inviter.length > 0
}

/** Creates an invited user with a verified address: the token came by mail. Returns null when the user exists by now. */
export async function createUser(
  sql: Sql,
  { email, fullName, passwordHash }: { email: string; fullName: string | null; passwordHash: string },
): Promise<string | null> {
  const [user] = await sql<{ id: string }>`
    insert into app.users (email, full_name, password_hash, email_verified_at)
    values (${email}, ${fullName}, ${passwordHash}, now())
    on conflict (email) do nothing
    returning id`
  return user?.id ?? null
}

/**
 * Locks the user with this address, so that nobody disables them before the transaction ends. Returns null for a
 * disabled user.
 */
export async function lockEnabledUser(sql: Sql, email: string): Promise<string | null> {
  const [user] = await sql<{ id: string }>`
    select id from app.users where email = ${email} and disabled_at is null for share`
  return user?.id ?? null
}

/**
 * Makes the user a live member in this role. A live member keeps their role, unless the platform invites: that is how a
 * tenant without an owner gets one. Returns the id of the membership.
 */
export async function acceptMembership(
  sql: TenantTransaction,
  { userId, roleId, invitedBy }: { userId: string; roleId: number; invitedBy: string | null },
): Promise<string> {
  const [membership] = await sql<{ id: string }>`
    insert into app.memberships (tenant_id, user_id, role_id, invited_by, accepted_at)
    values (app.current_tenant(), ${userId}, ${roleId}::smallint, ${invitedBy}, now())
    on conflict (tenant_id, user_id) do update
      set role_id = case when memberships.accepted_at is null or memberships.revoked_at is not null or ${invitedBy}::uuid is null
                         then excluded.role_id else memberships.role_id end,
          invited_by = excluded.invited_by, invitation_id = null, revoked_at = null,
          accepted_at = case when memberships.accepted_at is null or memberships.revoked_at is not null
                             then excluded.accepted_at else memberships.accepted_at end,
          -- As for a user that the acceptance creates: the time must not tell who had an account before.
          created_at = case when memberships.accepted_at is null then excluded.created_at else memberships.created_at end
    returning id`
  if (membership === undefined) throw new Error('the upsert of a membership returned no row')
  return membership.id
}
