import type { TenantTransaction } from '#shared/db/scope.ts'
import { BEGINNING, type Key, type ListRow } from '#shared/schema/page.ts'
import type { InvitationRecord } from '#shared/membership/member.ts'

/** Returns open invitations of the tenant, oldest first: up to `limit` + 1 of them, or the one with this id or email. */
export async function searchInvitations(
  sql: TenantTransaction,
  search: { after?: Key | null; limit?: number; id?: string; email?: string },
): Promise<ListRow<InvitationRecord>[]> {
  const { limit = 1, id = null, email = null } = search
  const after = search.after ?? BEGINNING
  const rows = await sql<InvitationRecord & { readonly sort_key: string }>`
    select i.id, i.email, json_build_object('id', r.id, 'code', r.code, 'label', r.label, 'rank', r.rank) as role,
           case when i.expires_at <= now() then 'expired' else 'pending' end as status,
           i.invited_by, i.created_at, i.expires_at, to_json(i.created_at) as sort_key
      from app.invitations i
      join app.roles r on r.id = i.role_id
     where (${id}::uuid is null or i.id = ${id}::uuid)
       and (${email}::text is null or i.email = ${email}::text)
       and (i.created_at, i.id) > (${after[0]}::text::timestamptz, ${after[1]}::uuid)
     order by i.created_at, i.id
     limit ${limit + 1}`
  return rows.map(({ sort_key, ...item }) => ({ item, key: [sort_key, item.id] }))
}

export interface NewInvitation {
  readonly email: string
  readonly userId: string | null
  readonly roleId: number
  readonly invitedBy: string
  readonly tokenHash: Buffer
  readonly ttlSeconds: number
}

/** Creates an invitation, or replaces the token of the open one for the address. Returns its id. */
export async function putInvitation(sql: TenantTransaction, invitation: NewInvitation): Promise<string> {
  const { email, userId, roleId, invitedBy, tokenHash, ttlSeconds } = invitation
  const [row] = await sql<{ id: string }>`
    insert into app.tokens (token_hash, purpose, tenant_id, email, user_id, role_id, invited_by, expires_at)
    values (${tokenHash}, 'invite', app.current_tenant(), ${email}, ${userId}, ${roleId}::smallint, ${invitedBy},
            now() + make_interval(secs => ${ttlSeconds}::int))
    on conflict (tenant_id, email) where purpose = 'invite' and consumed_at is null
    do update set token_hash = excluded.token_hash, user_id = excluded.user_id, role_id = excluded.role_id,
                  invited_by = excluded.invited_by, expires_at = excluded.expires_at
    returning id`
  if (row === undefined) throw new Error('the upsert of an invitation returned no row')
  return row.id
}

export async function deleteInvitation(sql: TenantTransaction, id: string): Promise<void> {
  await sql`delete from app.tokens where id = (select i.id from app.invitations i where i.id = ${id})`
}

/** A user, and their membership of the tenant if they have one. */
export interface InvitedUser {
  readonly user_id: string
  readonly membership_id: string | null
  readonly accepted_at: Date | null
  readonly revoked_at: Date | null
}

export async function findInvitedUser(sql: TenantTransaction, email: string): Promise<InvitedUser | null> {
  const [row] = await sql<InvitedUser>`
    select u.id as user_id, m.id as membership_id, m.accepted_at, m.revoked_at
      from app.users u left join app.memberships m on m.user_id = u.id where u.email = ${email}`
  return row ?? null
}

/** Creates a membership that the user has yet to accept, or makes a revoked one outstanding again. */
export async function putOutstandingMembership(
  sql: TenantTransaction,
  { userId, roleId, invitedBy }: { userId: string; roleId: number; invitedBy: string },
): Promise<void> {
  await sql`
    insert into app.memberships (tenant_id, user_id, role_id, invited_by)
    values (app.current_tenant(), ${userId}, ${roleId}::smallint, ${invitedBy})
    on conflict (tenant_id, user_id) do update
      set role_id = excluded.role_id, invited_by = excluded.invited_by, accepted_at = null, revoked_at = null`
}

/** Revokes the membership that the user has not accepted. */
export async function dropOutstandingMembership(sql: TenantTransaction, email: string): Promise<void> {
  await sql`
    update app.memberships set revoked_at = now()
     where user_id = (select id from app.users where email = ${email}) and accepted_at is null and revoked_at is null`
}
