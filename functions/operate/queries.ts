import type { Sql } from '#shared/db/connect.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'
import type { TenantStatus } from '#shared/tenant/tenant.ts'

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

/** Returns the tenant like `findTenant`, and locks its row until the transaction ends. */
export async function lockTenant(sql: Sql, slug: string): Promise<FoundTenant | null> {
  const tenant = await findTenant(sql, slug)
  if (tenant === null) return null
  await sql`select app.set_tenant(${tenant.id})`
  const [locked] =
    await sql<FoundTenant>`select id, slug, status, app.is_open(status) as open from app.tenants where id = ${tenant.id} for no key update`
  return locked ?? null
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
       set status = ${status}, suspended_at = case when ${status} = 'suspended' then now() end
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

export interface FoundUser {
  readonly id: string
  readonly disabled_at: Date | null
}

export async function findUser(sql: Sql, email: string): Promise<FoundUser | null> {
  const [user] = await sql<FoundUser>`select id, disabled_at from app.users where email = ${email}`
  return user ?? null
}

/** Disables a user and ends their sessions. Returns how many it ended. */
export async function disableUser(sql: Sql, userId: string): Promise<number> {
  await sql`select app.lock_user(${userId})`
  await sql`update app.users set disabled_at = now() where id = ${userId} and disabled_at is null`
  const ended = await sql`
    update app.sessions set revoked_at = now() where user_id = ${userId} and revoked_at is null returning id`
  return ended.length
}

export async function enableUser(sql: Sql, userId: string): Promise<void> {
  await sql`update app.users set disabled_at = null where id = ${userId}`
}

/** Returns the ids of the tenants where the user is a member. A tenant that only invited them must not learn of the user. */
export async function tenantsOf(sql: Sql, userId: string): Promise<string[]> {
  const rows = await sql<{ tenant_id: string }>`
    select tenant_id from app.memberships
     where user_id = ${userId} and accepted_at is not null and revoked_at is null`
  return rows.map((row) => row.tenant_id)
}

/** Invites a tenant's first owner and returns the invitation's id. It names no inviter: the platform invites. */
export async function inviteOwner(
  sql: TenantTransaction,
  invitation: { tenantId: string; email: string; userId: string | null; tokenHash: Buffer; ttlSeconds: number },
): Promise<string> {
  const { tenantId, email, userId, tokenHash, ttlSeconds } = invitation
  const [token] = await sql<{ id: string }>`
    insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, expires_at)
    select ${tokenHash}, 'invite', ${tenantId}, ${email}, id, now() + make_interval(secs => ${ttlSeconds}::int)
      from app.roles where code = 'owner'
    returning id`
  if (token === undefined) throw new Error('the insert returned no invitation: the role owner does not exist')
  if (userId !== null) {
    await sql`
      insert into app.memberships (tenant_id, user_id, role_id, invitation_id)
      select ${tenantId}, ${userId}, id, ${token.id} from app.roles where code = 'owner'`
  }
  return token.id
}

/** Gives the open invitation of an address a new token and expiry. Returns its id, or null if there is none. */
export async function renewInvitation(
  sql: TenantTransaction,
  renewal: { tenantId: string; email: string; tokenHash: Buffer; ttlSeconds: number },
): Promise<string | null> {
  const [token] = await sql<{ id: string }>`
    update app.tokens set token_hash = ${renewal.tokenHash},
                          expires_at = now() + make_interval(secs => ${renewal.ttlSeconds}::int)
     where tenant_id = ${renewal.tenantId} and email = ${renewal.email} and purpose = 'invite' and consumed_at is null
    returning id`
  return token?.id ?? null
}
