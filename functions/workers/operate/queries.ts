import { OWNER_ROLE_ID } from '#shared/identity/role.ts'
import type { Sql } from '#shared/db/connect.ts'
import { entryBy, TenantProof, type TenantTransaction } from '#shared/db/scope.ts'
import type { TenantStatus } from '#shared/identity/tenant.ts'

export interface FoundTenant {
  readonly id: string
  readonly slug: string
  readonly status: TenantStatus
  readonly open: boolean
}

/** Returns the tenant with this slug in any case, or null. */
export async function findTenant(sql: Sql, slug: string): Promise<FoundTenant | null> {
  const [tenant] = await sql<FoundTenant>`
    select id, slug, status, app.is_open(status) as open from app.tenants where slug = ${slug} and deleted_at is null`
  return tenant ?? null
}

/**
 * Returns an operator's proof for a tenant, for any login. `sql` is the operator's: each transaction in the tenant gets its
 * ticket there. The server's log keeps the reason.
 */
export const proofOfOperator = (sql: Sql, tenantId: string, reason: string): TenantProof =>
  new TenantProof(async () => {
    const [row] = await sql<{ ticket: Uint8Array }>`select app.operator_ticket(${tenantId}, ${reason}) as ticket`
    if (row === undefined) throw new Error('the database issued no ticket')
    return entryBy(row.ticket)
  })

/** Marks the transaction as a revocation: what blocks it may be ended. */
export async function markRevocation(sql: Sql): Promise<void> {
  await sql`select app.mark_revocation()`
}

/** Returns the tenant like `findTenant`, and locks its row until the transaction ends. */
export async function lockTenant(sql: TenantTransaction, id: string): Promise<FoundTenant | null> {
  const [tenant] = await sql<FoundTenant>`
    select id, slug, status, app.is_open(status) as open from app.tenants where id = ${id} for no key update`
  return tenant ?? null
}

/** Stores a tenant. Returns false if the slug is taken. */
export async function insertTenant(
  sql: TenantTransaction,
  tenant: { id: string; slug: string; name: string; timezone: string; currency: string },
): Promise<boolean> {
  const inserted = await sql`
    insert into app.tenants (id, slug, legal_name, timezone, currency)
    values (${tenant.id}, ${tenant.slug}, ${tenant.name}, ${tenant.timezone}, ${tenant.currency})
    on conflict (slug) do nothing
    returning id`
  return inserted.length > 0
}

/** Sets the tenant's status. Returns whether members may now work in it. */
export async function setStatus(sql: TenantTransaction, id: string, status: TenantStatus): Promise<boolean> {
  const [tenant] = await sql<{ open: boolean }>`
    update app.tenants
       set status = ${status}, suspended_at = case when ${status} = 'suspended' then now() end,
           updated_at = clock_timestamp()
     where id = ${id}
    returning app.is_open(status) as open`
  return tenant?.open ?? false
}

/** Ends every session in the tenant, after waiting for the users' writes in progress. Returns how many it ended. */
export async function endTenantSessions(sql: TenantTransaction, tenantId: string): Promise<number> {
  await sql`
    select app.lock_user(users.user_id)
      from (select distinct user_id from app.sessions
             where tenant_id = ${tenantId} and revoked_at is null order by user_id) as users`
  const ended = await sql`
    update app.sessions set revoked_at = now() where tenant_id = ${tenantId} and revoked_at is null returning id`
  return ended.length
}

/** Waits for the writes of the tenant's API keys, which find its status later. */
export async function awaitKeys(sql: TenantTransaction, tenantId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(app.lock_of_keys(${tenantId}))`
}

/** Waits for the background work of other services in the tenant. Later work finds the tenant's status. */
export async function awaitServices(sql: TenantTransaction, tenantId: string): Promise<void> {
  await sql`select from app.service_tenants where tenant_id = ${tenantId} order by role for no key update`
}

/** Returns whether a role signs in and has the privileges of tenant_bound. */
export async function isServiceLogin(sql: Sql, role: string): Promise<boolean> {
  const found = await sql`
    select from pg_roles where rolname = ${role} and rolcanlogin and not rolsuper and pg_has_role(oid, 'tenant_bound', 'usage')`
  return found.length > 0
}

/** Returns false if the service may enter the tenant already. */
export async function grantServiceTenant(sql: TenantTransaction, tenantId: string, role: string): Promise<boolean> {
  const granted = await sql`
    insert into app.service_tenants as s (tenant_id, role) values (${tenantId}, ${role})
    on conflict (tenant_id, role) do update set granted_at = now(), revoked_at = null
      where s.revoked_at is not null or s.role_oid is distinct from excluded.role_oid
    returning role`
  return granted.length > 0
}

/** Returns false if the service may not enter the tenant. */
export async function revokeServiceTenant(sql: TenantTransaction, tenantId: string, role: string): Promise<boolean> {
  const revoked = await sql`
    update app.service_tenants set revoked_at = now()
     where tenant_id = ${tenantId} and role = ${role} and revoked_at is null
    returning role`
  return revoked.length > 0
}

export interface FoundUser {
  readonly id: string
  readonly disabled_at: string | null
}

export async function findUser(sql: Sql, email: string): Promise<FoundUser | null> {
  const [user] = await sql<FoundUser>`select id, disabled_at from app.users where email = ${email}`
  return user ?? null
}

/** Disables a user, ends their sessions and voids the password resets requested so far. Returns how many it ended. */
export async function disableUser(sql: Sql, userId: string): Promise<number> {
  await sql`select app.lock_user(${userId})`
  await sql`
    update app.users set disabled_at = now(), resets_valid_from = clock_timestamp()
     where id = ${userId} and disabled_at is null`
  const ended = await sql`
    update app.sessions set revoked_at = now() where user_id = ${userId} and revoked_at is null returning id`
  return ended.length
}

export async function enableUser(sql: Sql, userId: string): Promise<void> {
  await sql`update app.users set disabled_at = null where id = ${userId}`
}

// As in app.keep_an_owner. The row of the role is visible only in a tenant's scope.

/** Returns whether the tenant has an owner, besides `exceptUserId`, who can sign in. Requires the lock of the tenant. */
export async function hasOwner(
  sql: TenantTransaction,
  tenantId: string,
  exceptUserId: string | null = null,
): Promise<boolean> {
  const owners = await sql`
    select from app.memberships m
      join app.users u on u.id = m.user_id and u.disabled_at is null
     where m.role_id = ${OWNER_ROLE_ID}::integer and m.tenant_id = ${tenantId} and m.accepted_at is not null and m.revoked_at is null
       and (${exceptUserId}::uuid is null or m.user_id <> ${exceptUserId}::uuid)
     limit 1`
  return owners.length > 0
}

/**
 * Locks the tenants that the user owns, as every change of owners does. Returns the slugs of those where no other owner can
 * sign in.
 */
export async function lockLosingTenants(
  sql: Sql,
  userId: string,
  enter: (tenantId: string) => Promise<TenantTransaction>,
): Promise<string[]> {
  const owned = await sql<{ id: string; slug: string }>`
    select t.id, t.slug from app.memberships m
      join app.tenants t on t.id = m.tenant_id and t.deleted_at is null and t.status <> 'cancelled'
     where m.user_id = ${userId} and m.role_id = ${OWNER_ROLE_ID}::integer and m.accepted_at is not null and m.revoked_at is null
     order by t.id`
  const losing: string[] = []
  for (const { id, slug } of owned) {
    const scoped = await enter(id)
    if ((await lockTenant(scoped, id)) === null) continue
    if (!(await hasOwner(scoped, id, userId))) losing.push(slug)
  }
  return losing
}

/** Returns the ids of the tenants where the user is a member. A tenant that only invited them must not learn of the user. */
export async function tenantsOf(sql: Sql, userId: string): Promise<string[]> {
  const rows = await sql<{ tenant_id: string }>`
    select tenant_id from app.memberships
     where user_id = ${userId} and accepted_at is not null and revoked_at is null`
  return rows.map((row) => row.tenant_id)
}

/** What an address was marked as bounced on, with the tenant whose audit log records the change. */
export interface ClearedBounce {
  readonly tenantId: string | null
  readonly type: 'invitation' | 'user'
  readonly id: string
}

/** Lets an address get mail again. Returns each invitation, and the user once for every tenant of theirs. */
export async function clearBounces(sql: Sql, email: string): Promise<ClearedBounce[]> {
  return sql<ClearedBounce>`
    select tenant_id as "tenantId", target_type as type, target_id as id from app.clear_bounces(${email})`
}

/** Returns false if the invitations of the tenant are not stopped. */
export async function allowInvitations(sql: TenantTransaction, tenantId: string): Promise<boolean> {
  const allowed = await sql`
    update app.tenants set invitations_stopped_at = null, invitations_counted_from = now()
     where id = ${tenantId} and invitations_stopped_at is not null
    returning id`
  return allowed.length > 0
}

interface RenewedToken {
  readonly email: string
  readonly tokenHash: Buffer
  readonly ttlSeconds: number
}

/**
 * Invites an owner to the transaction's tenant, or makes the open invitation of the address one of an owner. Returns its id. It
 * names no inviter: the platform invites. Requires the lock of the tenant, unless it is new.
 */
export async function storeInvitation(
  sql: TenantTransaction,
  { email, tokenHash, ttlSeconds }: RenewedToken,
): Promise<string> {
  const [invitation] = await sql<{ id: string }>`
    select id from app.store_invitation(${email}, ${OWNER_ROLE_ID}, ${tokenHash}, ${ttlSeconds})`
  if (invitation === undefined) throw new Error('app.store_invitation returned no invitation')
  return invitation.id
}

/**
 * Gives the open invitation of an address to the transaction's tenant a new token and expiry. Returns its id, or null if there is
 * none.
 */
export async function renewInvitation(
  sql: TenantTransaction,
  { email, tokenHash, ttlSeconds }: RenewedToken,
): Promise<string | null> {
  const [token] = await sql<{ id: string }>`
    update app.tokens set token_hash = ${tokenHash},
                          expires_at = now() + make_interval(secs => ${ttlSeconds}::int), issued_at = now()
     where tenant_id = (select app.current_tenant()) and email = ${email} and purpose = 'invite' and consumed_at is null
    returning id`
  return token?.id ?? null
}
