import type { Sql } from '#shared/db/connect.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'
import type { TokenHashes } from '#shared/secret/secret.ts'
import type { TokenPurpose } from '#shared/token/token.ts'

/** What a single-use token stands for. */
export interface TokenRow {
  readonly id: string
  readonly user_id: string | null
  readonly tenant_id: string | null
  readonly email: string | null
  readonly role_id: number | null
  readonly invited_by: string | null
  readonly consumed: boolean
}

/** A token of this purpose that is unexpired or was consumed; null for any other. Consumes nothing. */
export async function findToken(
  sql: Sql,
  [present, previous]: TokenHashes,
  purpose: TokenPurpose,
): Promise<TokenRow | null> {
  const [row] = await sql<TokenRow>`
    select id, user_id, tenant_id, email, role_id, invited_by, consumed_at is not null as consumed
      from app.tokens
     where token_hash in (${present}, ${previous}) and purpose = ${purpose} and (consumed_at is not null or expires_at > now())`
  return row ?? null
}

/** Of the tokens of one person, one is used at a time: taken before a token's row, as every change that ends sessions does. */
export async function lockUser(sql: Sql, userId: string): Promise<void> {
  await sql`select app.lock_user(${userId})`
}

/** Consumes a token: of any number of attempts at once exactly one gets true. */
export async function consumeToken(
  sql: Sql,
  [present, previous]: TokenHashes,
  purpose: TokenPurpose,
): Promise<boolean> {
  const consumed = await sql`
    update app.tokens set consumed_at = now()
     where token_hash in (${present}, ${previous}) and purpose = ${purpose} and consumed_at is null and expires_at > now()
    returning id`
  return consumed.length > 0
}

export interface UserContact {
  readonly id: string
  readonly email: string
  readonly full_name: string | null
  readonly disabled_at: Date | null
}

export async function findUserContact(sql: Sql, by: { id: string } | { email: string }): Promise<UserContact | null> {
  const [person] =
    'id' in by
      ? await sql<UserContact>`select id, email, full_name, disabled_at from app.users where id = ${by.id}`
      : await sql<UserContact>`select id, email, full_name, disabled_at from app.users where email = ${by.email}`
  return person ?? null
}

/**
 * Sets a password by a consumed reset token: the address is proved, and no other reset token of the person opens
 * anything. False when the account is disabled. The sessions are the caller's to end.
 */
export async function resetPassword(sql: Sql, userId: string, hash: string): Promise<boolean> {
  const changed = await sql`
    update app.users set password_hash = ${hash}, email_verified_at = coalesce(email_verified_at, now())
     where id = ${userId} and disabled_at is null
    returning id`
  if (changed.length === 0) return false
  await sql`
    update app.tokens set expires_at = now()
     where user_id = ${userId} and purpose = 'password_reset' and consumed_at is null and expires_at > now()`
  return true
}

export async function verifyEmail(sql: Sql, userId: string): Promise<void> {
  await sql`update app.users set email_verified_at = now() where id = ${userId} and email_verified_at is null`
}

/** The shop and the role that an invitation is for. */
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
  const [offer] = await sql<InvitationDetails>`
    select t.id as tenant_id, t.slug, t.legal_name, r.code as role_code,
           t.deleted_at is null and app.is_open(t.status) as open
      from app.tenants t, app.roles r where t.id = ${tenantId} and r.id = ${roleId}::smallint`
  return offer ?? null
}

/** Whether the tenant is open; holds it until the transaction ends, as every change of members does before any row. */
export async function lockOpenTenant(sql: TenantTransaction, tenantId: string): Promise<boolean> {
  const open = await sql`
    select from app.tenants where id = ${tenantId} and deleted_at is null and app.is_open(status)
       for no key update`
  return open.length > 0
}

/**
 * Whether the inviter of an invitation is a member who could give the role today, or the platform (null). Holds the
 * membership until the transaction ends; the tenant is held already.
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

/** Creates the account of an invited person, whose address the mail has proved; null when there is one by now. */
export async function createUser(
  sql: Sql,
  { email, fullName, passwordHash }: { email: string; fullName: string | null; passwordHash: string },
): Promise<string | null> {
  const [person] = await sql<{ id: string }>`
    insert into app.users (email, full_name, password_hash, email_verified_at)
    values (${email}, ${fullName}, ${passwordHash}, now())
    on conflict (email) do nothing
    returning id`
  return person?.id ?? null
}

/** Makes the person a live member in this role; the id of the membership. */
export async function acceptMembership(
  sql: TenantTransaction,
  { userId, roleId, invitedBy }: { userId: string; roleId: number; invitedBy: string | null },
): Promise<string> {
  const [membership] = await sql<{ id: string }>`
    insert into app.memberships (tenant_id, user_id, role_id, invited_by, accepted_at)
    values (app.current_tenant(), ${userId}, ${roleId}::smallint, ${invitedBy}, now())
    on conflict (tenant_id, user_id) do update
      set role_id = case when memberships.accepted_at is null or memberships.revoked_at is not null
                         then excluded.role_id else memberships.role_id end,
          invited_by = excluded.invited_by, accepted_at = coalesce(memberships.accepted_at, excluded.accepted_at),
          revoked_at = null
    returning id`
  if (membership === undefined) throw new Error('no membership was written')
  return membership.id
}
