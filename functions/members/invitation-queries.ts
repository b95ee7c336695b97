import type { TenantTransaction } from '#shared/db/scope.ts'
import { BEGINNING, type Key, type ListRow } from '#shared/schema/page.ts'
import type { InvitationRecord } from '#shared/membership/member.ts'

// Each search has a statement of its own. With `is null or`, Postgres plans one statement for all of them at each call.

/** Returns open invitations of the tenant, oldest first: up to `limit` + 1 of them. */
export async function searchInvitations(
  sql: TenantTransaction,
  { after, limit }: { after: Key | null; limit: number },
): Promise<ListRow<InvitationRecord>[]> {
  const [createdAfter, idAfter] = after ?? BEGINNING
  const rows = await sql<InvitationRecord & { readonly sort_key: string }>`
    select i.id, i.email, json_build_object('id', r.id, 'code', r.code, 'label', r.label, 'rank', r.rank) as role,
           case when i.expires_at <= now() then 'expired' else 'pending' end as status,
           i.invited_by, i.created_at, i.expires_at, i.bounced_at, to_json(i.created_at) as sort_key
      from app.invitations i
      join app.roles r on r.id = i.role_id
     where (i.created_at, i.id) > (${createdAfter}::text::timestamptz, ${idAfter}::uuid)
     order by i.created_at, i.id
     limit ${limit + 1}`
  return rows.map(({ sort_key, ...item }) => ({ item, key: [sort_key, item.id] }))
}

/** Returns an open invitation of the tenant, or null. */
export async function findInvitation(sql: TenantTransaction, id: string): Promise<InvitationRecord | null> {
  const [found] = await sql<InvitationRecord>`
    select i.id, i.email, json_build_object('id', r.id, 'code', r.code, 'label', r.label, 'rank', r.rank) as role,
           case when i.expires_at <= now() then 'expired' else 'pending' end as status,
           i.invited_by, i.created_at, i.expires_at, i.bounced_at
      from app.invitations i
      join app.roles r on r.id = i.role_id
     where i.id = ${id}`
  return found ?? null
}

/** What the tenant knows of an address. */
export interface Invitee {
  /** As the open invitation spells it, else as it was searched for. */
  readonly email: string
  /** The rank of the role that the open invitation gives, or null without one. */
  readonly rank: number | null
  /** For how many more seconds the open invitation may not be mailed again. */
  readonly wait_seconds: number
  readonly is_member: boolean
}

/** Returns what the tenant knows of an address. */
export async function findInvitee(sql: TenantTransaction, email: string, resendSeconds: number): Promise<Invitee> {
  // Not now(): this transaction may have begun before the one that issued the invitation, and have waited for it.
  const [found] = await sql<Invitee>`
    select coalesce(i.email::text, ${email}) as email, r.rank,
           greatest(0, ceil(extract(epoch from i.issued_at - clock_timestamp()) + ${resendSeconds}::int))::int as wait_seconds,
           exists (select from app.memberships m join app.users u on u.id = m.user_id
                    where u.email = ${email} and m.accepted_at is not null and m.revoked_at is null) as is_member
      from (select) as always
      left join (app.invitations i join app.roles r on r.id = i.role_id) on i.email = ${email}`
  if (found === undefined) throw new Error('the search of an address returned no row')
  return found
}

/** What the database adds to a new invitation. */
export type StoredInvitation = Pick<InvitationRecord, 'id' | 'created_at' | 'expires_at' | 'bounced_at'>

export interface NewInvitation {
  readonly email: string
  readonly roleId: number
  readonly tokenHash: Buffer
  readonly ttlSeconds: number
}

/**
 * Creates an invitation in the name of the principal, or replaces the token of the open one for the address. If the address has
 * a user who never accepted, also creates or changes their membership. It runs the same statements for any address.
 */
export async function putInvitation(sql: TenantTransaction, invitation: NewInvitation): Promise<StoredInvitation> {
  const { email, roleId, tokenHash, ttlSeconds } = invitation
  const [row] = await sql<StoredInvitation>`
    select * from app.put_invitation(${email}, ${roleId}::integer, ${tokenHash}, ${ttlSeconds})`
  if (row === undefined) throw new Error('app.put_invitation returned no row')
  return row
}

/** Changes the role that an open invitation will grant. The caller becomes its inviter: they vouch for the role. */
export async function setInvitedRole(
  sql: TenantTransaction,
  id: string,
  { roleId, invitedBy }: { roleId: number; invitedBy: string },
): Promise<void> {
  await sql`
    update app.tokens set role_id = ${roleId}::integer, invited_by = ${invitedBy}
     where id = (select i.id from app.invitations i where i.id = ${id})`
  await sql`
    update app.memberships set role_id = ${roleId}::integer, invited_by = ${invitedBy} where invitation_id = ${id}`
}

/** Deletes an open invitation, and with it the membership that waits for it. */
export async function deleteInvitation(sql: TenantTransaction, id: string): Promise<void> {
  await sql`delete from app.tokens where id = (select i.id from app.invitations i where i.id = ${id})`
}
