import type { TenantTransaction } from '#shared/db/scope.ts'
import { BEGINNING, type Key, type ListRow } from '#shared/schema/page.ts'
import { invitedMember, type Member } from '#shared/membership/member.ts'
import { findInvitation } from './invitation-queries.ts'

export type MemberStatus = 'active' | 'invited' | 'revoked'

export interface MemberSearch {
  readonly statuses: readonly MemberStatus[]
  readonly q: string | null
  readonly after: Key | null
  readonly limit: number
}

/**
 * Returns members of the tenant, oldest first: up to `limit` + 1 of them. Invited persons come from the invitations alone,
 * so that those with an account look like those without.
 */
export async function searchMembers(sql: TenantTransaction, search: MemberSearch): Promise<ListRow<Member>[]> {
  const { statuses, after, limit, q } = search
  const [createdAfter, idAfter] = after ?? BEGINNING
  const pattern = q === null ? null : `%${q.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`
  type Row = Member & { readonly sort_key: string }
  // Two statements: with `is null or` for the pattern, Postgres plans at each call, which takes longer than the page.
  const rows =
    pattern === null
      ? await sql<Row>`
    (select m.id,
            json_build_object('id', u.id, 'email', u.email, 'full_name', u.full_name,
                              'avatar_url', u.avatar_url, 'disabled', u.disabled_at is not null) as user,
            json_build_object('id', r.id, 'code', r.code, 'label', r.label, 'rank', r.rank) as role,
            m.invited_by, m.accepted_at, m.revoked_at, m.created_at, to_json(m.created_at) as sort_key
       from app.memberships m
       join app.users u on u.id = m.user_id
       join app.roles r on r.id = m.role_id
      where m.accepted_at is not null
        and case when m.revoked_at is null then ${statuses.includes('active')}::boolean
                 else ${statuses.includes('revoked')}::boolean end
        and (m.created_at, m.id) > (${createdAfter}::text::timestamptz, ${idAfter}::uuid)
      order by m.created_at, m.id
      limit ${limit + 1})
    union all
    (select i.id,
            json_build_object('id', null, 'email', i.email, 'full_name', null, 'avatar_url', null, 'disabled', false),
            json_build_object('id', r.id, 'code', r.code, 'label', r.label, 'rank', r.rank),
            i.invited_by, null, null, i.created_at, to_json(i.created_at)
       from app.invitations i
       join app.roles r on r.id = i.role_id
      where ${statuses.includes('invited')}::boolean
        and (i.created_at, i.id) > (${createdAfter}::text::timestamptz, ${idAfter}::uuid)
      order by i.created_at, i.id
      limit ${limit + 1})
    order by created_at, id
    limit ${limit + 1}`
      : await sql<Row>`
    (select m.id,
            json_build_object('id', u.id, 'email', u.email, 'full_name', u.full_name,
                              'avatar_url', u.avatar_url, 'disabled', u.disabled_at is not null) as user,
            json_build_object('id', r.id, 'code', r.code, 'label', r.label, 'rank', r.rank) as role,
            m.invited_by, m.accepted_at, m.revoked_at, m.created_at, to_json(m.created_at) as sort_key
       from app.memberships m
       join app.users u on u.id = m.user_id
       join app.roles r on r.id = m.role_id
      where m.accepted_at is not null
        and case when m.revoked_at is null then ${statuses.includes('active')}::boolean
                 else ${statuses.includes('revoked')}::boolean end
        and (lower(u.email collate "C") like ${pattern} or lower(u.full_name) like ${pattern})
        and (m.created_at, m.id) > (${createdAfter}::text::timestamptz, ${idAfter}::uuid)
      order by m.created_at, m.id
      limit ${limit + 1})
    union all
    (select i.id,
            json_build_object('id', null, 'email', i.email, 'full_name', null, 'avatar_url', null, 'disabled', false),
            json_build_object('id', r.id, 'code', r.code, 'label', r.label, 'rank', r.rank),
            i.invited_by, null, null, i.created_at, to_json(i.created_at)
       from app.invitations i
       join app.roles r on r.id = i.role_id
      where ${statuses.includes('invited')}::boolean
        and lower(i.email collate "C") like ${pattern}
        and (i.created_at, i.id) > (${createdAfter}::text::timestamptz, ${idAfter}::uuid)
      order by i.created_at, i.id
      limit ${limit + 1})
    order by created_at, id
    limit ${limit + 1}`
  return rows.map(({ sort_key, ...item }) => ({ item, key: [sort_key, item.id] }))
}

/** Returns a member or former member of the tenant, an invited person for the id of an open invitation, or null. */
export async function findMember(sql: TenantTransaction, id: string): Promise<Member | null> {
  const [member] = await sql<Member>`
    select m.id,
           json_build_object('id', u.id, 'email', u.email, 'full_name', u.full_name,
                              'avatar_url', u.avatar_url, 'disabled', u.disabled_at is not null) as user,
           json_build_object('id', r.id, 'code', r.code, 'label', r.label, 'rank', r.rank) as role,
           m.invited_by, m.accepted_at, m.revoked_at, m.created_at
      from app.memberships m
      join app.users u on u.id = m.user_id
      join app.roles r on r.id = m.role_id
     where m.id = ${id} and m.accepted_at is not null`
  if (member !== undefined) return member
  const invited = await findInvitation(sql, id)
  return invited === null ? null : invitedMember(invited)
}

/**
 * Locks a membership of the tenant for a change. Waits for the user's writes in progress, and blocks later ones until the
 * transaction ends. Returns an invited person for the id of an open invitation, and null for any other id.
 */
export async function lockMember(sql: TenantTransaction, id: string): Promise<Member | null> {
  // Both travel in one round trip, and Postgres runs them in this order.
  await Promise.all([
    sql`select app.lock_member((select user_id from app.memberships where id = ${id}))`,
    sql`select from app.memberships where id = ${id} for no key update`,
  ])
  return findMember(sql, id)
}

export async function setRole(sql: TenantTransaction, membershipId: string, roleId: number): Promise<void> {
  await sql`update app.memberships set role_id = ${roleId}::integer where id = ${membershipId}`
}

/** Revokes a locked membership, its sessions and any open invitation of its user. Returns the user and the time. */
export async function revokeMembership(
  sql: TenantTransaction,
  membershipId: string,
): Promise<{ user_id: string; revoked_at: Date }> {
  const [revoked] = await sql<{ user_id: string; revoked_at: Date }>`
    update app.memberships set revoked_at = now() where id = ${membershipId} returning user_id, revoked_at`
  if (revoked === undefined) throw new Error('the locked membership is gone')
  await sql`
    update app.sessions set revoked_at = now()
     where user_id = ${revoked.user_id} and tenant_id = (select app.current_tenant()) and revoked_at is null`
  await sql`
    delete from app.tokens where id = (
      select i.id from app.invitations i join app.users u on u.email = i.email where u.id = ${revoked.user_id})`
  return revoked
}
