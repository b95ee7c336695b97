import type { TenantTransaction } from '#shared/db/scope.ts'
import { BEGINNING, type Key, type ListRow } from '#shared/schema/page.ts'
import type { InvitationRecord, Member } from '#shared/membership/member.ts'

export type MemberStatus = 'active' | 'invited' | 'revoked'

interface MemberRow extends Pick<Member, 'id' | 'invited_by' | 'accepted_at' | 'revoked_at' | 'created_at'> {
  readonly user_id: string
  readonly email: string
  readonly full_name: string | null
  readonly avatar_url: string | null
  readonly role_id: number
  readonly role_code: string
  readonly role_label: string
  readonly role_rank: number
}

const toMember = (row: MemberRow): Member => ({
  id: row.id,
  user: { id: row.user_id, email: row.email, full_name: row.full_name, avatar_url: row.avatar_url },
  role: { id: row.role_id, code: row.role_code, label: row.role_label, rank: row.role_rank },
  invited_by: row.invited_by,
  accepted_at: row.accepted_at,
  revoked_at: row.revoked_at,
  created_at: row.created_at,
})

export interface MemberSearch {
  readonly statuses: readonly MemberStatus[]
  readonly q: string | null
  readonly after: Key | null
  readonly limit: number
}

/** Returns members of the tenant, oldest first: up to `limit` + 1 of them. */
export async function searchMembers(sql: TenantTransaction, search: MemberSearch): Promise<ListRow<Member>[]> {
  const { statuses, after, limit } = search
  const [createdAt, id] = after ?? BEGINNING
  const pattern = search.q === null ? null : `%${search.q.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`
  const rows = await sql<MemberRow & { readonly sort_key: string }>`
    select m.id, m.invited_by, m.accepted_at, m.revoked_at, m.created_at,
           to_json(m.created_at) as sort_key,
           u.id as user_id, u.email, u.full_name, u.avatar_url,
           r.id as role_id, r.code as role_code, r.label as role_label, r.rank as role_rank
      from app.memberships m
      join app.users u on u.id = m.user_id
      join app.roles r on r.id = m.role_id
     where case when m.revoked_at is not null then ${statuses.includes('revoked')}::boolean
                when m.accepted_at is null then ${statuses.includes('invited')}::boolean
                else ${statuses.includes('active')}::boolean end
       and (${pattern}::text is null
            or lower(u.email collate "C") like ${pattern}::text or lower(u.full_name) like ${pattern}::text)
       and (m.created_at, m.id) > (${createdAt}::text::timestamptz, ${id}::uuid)
     order by m.created_at, m.id
     limit ${limit + 1}`
  return rows.map((row) => ({ item: toMember(row), key: [row.sort_key, row.id] }))
}

/**
 * One membership of the tenant, to be changed in this transaction; null when there is none of this id. Its user's writes
 * under way have ended when this resolves, and later ones wait.
 */
export async function lockMember(sql: TenantTransaction, id: string): Promise<Member | null> {
  await sql`select app.lock_member((select user_id from app.memberships where id = ${id}))`
  const [row] = await sql<MemberRow>`
    select m.id, m.invited_by, m.accepted_at, m.revoked_at, m.created_at,
           u.id as user_id, u.email, u.full_name, u.avatar_url,
           r.id as role_id, r.code as role_code, r.label as role_label, r.rank as role_rank
      from app.memberships m
      join app.users u on u.id = m.user_id
      join app.roles r on r.id = m.role_id
     where m.id = ${id}
       for no key update of m`
  return row === undefined ? null : toMember(row)
}

export async function setRole(sql: TenantTransaction, member: Member, roleId: number): Promise<void> {
  await sql`update app.memberships set role_id = ${roleId}::smallint where id = ${member.id}`
  await sql`
    update app.tokens set role_id = ${roleId}::smallint
     where id = (select i.id from app.invitations i where i.email = ${member.user.email})`
}

/** Revokes a membership, with its sessions and the invitation that may be open for it; when it was revoked. */
export async function revokeMembership(sql: TenantTransaction, member: Member): Promise<Date> {
  const [row] = await sql<{ revoked_at: Date }>`
    update app.memberships set revoked_at = now() where id = ${member.id} returning revoked_at`
  await sql`
    update app.sessions set revoked_at = now()
     where user_id = ${member.user.id} and tenant_id = app.current_tenant() and revoked_at is null`
  await sql`
    delete from app.tokens where id = (select i.id from app.invitations i where i.email = ${member.user.email})`
  if (row === undefined) throw new Error('the locked membership is gone')
  return row.revoked_at
}

interface InvitationRow extends Pick<InvitationRecord, 'id' | 'email' | 'invited_by' | 'created_at' | 'expires_at'> {
  readonly expired: boolean
  readonly role_id: number
  readonly role_code: string
  readonly role_label: string
  readonly role_rank: number
}

const toInvitation = (row: InvitationRow): InvitationRecord => ({
  id: row.id,
  email: row.email,
  role: { id: row.role_id, code: row.role_code, label: row.role_label, rank: row.role_rank },
  status: row.expired ? 'expired' : 'pending',
  invited_by: row.invited_by,
  created_at: row.created_at,
  expires_at: row.expires_at,
})

/** Returns open invitations of the tenant, oldest first: up to `limit` + 1 of them, or the one with this id or email. */
export async function searchInvitations(
  sql: TenantTransaction,
  search: { after?: Key | null; limit?: number; id?: string; email?: string },
): Promise<ListRow<InvitationRecord>[]> {
  const { limit = 1, id = null, email = null } = search
  const after = search.after ?? BEGINNING
  const rows = await sql<InvitationRow & { readonly sort_key: string }>`
    select i.id, i.email, i.invited_by, i.created_at, i.expires_at, i.expires_at <= now() as expired,
           to_json(i.created_at) as sort_key,
           r.id as role_id, r.code as role_code, r.label as role_label, r.rank as role_rank
      from app.invitations i
      join app.roles r on r.id = i.role_id
     where (${id}::uuid is null or i.id = ${id}::uuid)
       and (${email}::text is null or i.email = ${email}::text)
       and (i.created_at, i.id) > (${after[0]}::text::timestamptz, ${after[1]}::uuid)
     order by i.created_at, i.id
     limit ${limit + 1}`
  return rows.map((row) => ({ item: toInvitation(row), key: [row.sort_key, row.id] }))
}

export interface NewInvitation {
  readonly email: string
  readonly userId: string | null
  readonly roleId: number
  readonly invitedBy: string
  readonly tokenHash: Buffer
  readonly ttlSeconds: number
}

/** Opens an invitation, or replaces the token of the one that is open for the address, under its id. */
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
  if (row === undefined) throw new Error('no invitation was written')
  return row.id
}

export async function deleteInvitation(sql: TenantTransaction, id: string): Promise<void> {
  await sql`delete from app.tokens where id = (select i.id from app.invitations i where i.id = ${id})`
}

/** A person with an account, and where they stand in the tenant. */
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

/** Gives a person an outstanding membership, or revives the one that was revoked. */
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

export async function dropOutstandingMembership(sql: TenantTransaction, email: string): Promise<void> {
  await sql`
    update app.memberships set revoked_at = now()
     where user_id = (select id from app.users where email = ${email}) and accepted_at is null and revoked_at is null`
}
