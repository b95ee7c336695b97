import type { TenantTransaction } from '#shared/db/scope.ts'
import { BEGINNING, type Key, type ListRow } from '#shared/schema/page.ts'
import type { Member } from '#shared/membership/member.ts'

export type MemberStatus = 'active' | 'invited' | 'revoked'

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
  const rows = await sql<Member & { readonly sort_key: string }>`
    select m.id,
           json_build_object('id', u.id, 'email', u.email, 'full_name', u.full_name, 'avatar_url', u.avatar_url) as user,
           json_build_object('id', r.id, 'code', r.code, 'label', r.label, 'rank', r.rank) as role,
           m.invited_by, m.accepted_at, m.revoked_at, m.created_at, to_json(m.created_at) as sort_key
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
  return rows.map(({ sort_key, ...item }) => ({ item, key: [sort_key, item.id] }))
}

/**
 * Locks a membership of the tenant for a change. Waits for the user's writes in progress, and blocks later ones until the
 * transaction ends. Returns null when there is no such membership.
 */
export async function lockMember(sql: TenantTransaction, id: string): Promise<Member | null> {
  await sql`select app.lock_member((select user_id from app.memberships where id = ${id}))`
  const [member] = await sql<Member>`
    select m.id,
           json_build_object('id', u.id, 'email', u.email, 'full_name', u.full_name, 'avatar_url', u.avatar_url) as user,
           json_build_object('id', r.id, 'code', r.code, 'label', r.label, 'rank', r.rank) as role,
           m.invited_by, m.accepted_at, m.revoked_at, m.created_at
      from app.memberships m
      join app.users u on u.id = m.user_id
      join app.roles r on r.id = m.role_id
     where m.id = ${id}
       for no key update of m`
  return member ?? null
}

/** Changes the role of a member, and of the invitation that may be open for them. */
export async function setRole(sql: TenantTransaction, member: Member, roleId: number): Promise<void> {
  await sql`update app.memberships set role_id = ${roleId}::smallint where id = ${member.id}`
  await sql`
    update app.tokens set role_id = ${roleId}::smallint
     where id = (select i.id from app.invitations i where i.email = ${member.user.email})`
}

/** Revokes a membership, its sessions and any open invitation. Returns the time of the revocation. */
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
