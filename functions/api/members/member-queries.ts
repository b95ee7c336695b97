import type { TicketRun } from '#shared/db/calls.ts'
import { sourceValue } from '#shared/db/composite.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'
import type { RequestSource } from '#shared/schema/client.ts'
import type { Key, ListRow } from '#shared/schema/page.ts'
import { timestampText } from '#shared/schema/timestamp.ts'
import type { Ticket } from '#shared/identity/ticket.ts'
import { invitedMember, type Member } from '#shared/identity/member.ts'
import { findInvitation } from './invitation-queries.ts'

export type MemberStatus = 'active' | 'invited' | 'revoked'

export interface MemberSearch {
  readonly statuses: readonly MemberStatus[]
  readonly role: string | null
  readonly q: string | null
  /** Whether they have a second factor. Null: with and without. */
  readonly secondFactor: boolean | null
  readonly after: Key | null
  readonly limit: number
  /** Whether to count the people of the search, and to find the previous page. */
  readonly counted: boolean
}

/** How many people a search finds, how many of them precede the page, and the position before the previous page, if there is one. */
export interface Counts {
  readonly total: number
  readonly preceding: number
  readonly previous: Key | null
}

// The position before the first name.
const FIRST: Key = ['', '00000000-0000-0000-0000-000000000000']

/**
 * Returns members of the ticket's tenant by name: up to `limit` + 1 of them. Invited persons come from the invitations
 * alone, so that those with an account look like those without.
 */
export function searchMembers(
  call: TicketRun,
  ticket: Ticket,
  search: MemberSearch,
): Promise<{ rows: ListRow<Member>[]; counts: Counts }> {
  const { statuses, role, q, secondFactor, after, limit, counted } = search
  const [keyAfter, idAfter] = after ?? FIRST
  const has = (status: MemberStatus) => statuses.includes(status)
  return ticket.present(async (bytes) => {
    const rows = await call<MemberRow>`
      select * from app.list_members(${bytes}, ${has('active')}, ${has('revoked')}, ${has('invited')}, ${role}, ${q},
                                     ${keyAfter}, ${idAfter}, ${limit + 1}, ${counted}, ${secondFactor}::boolean)`
    return {
      rows: rows.map((row): ListRow<Member> => ({ item: memberOf(row), key: [row.sort_key, row.id] })),
      counts: countsOf(rows[0]),
    }
  })
}

function countsOf(row: MemberRow | undefined): Counts {
  const { total, preceding, previous_key: key, previous_id: id } = row ?? NOBODY
  const before: Key = key === null || id === null ? FIRST : [key, id]
  return {
    total: total ?? 0,
    preceding: preceding ?? 0,
    previous: preceding === 0 || preceding === null ? null : before,
  }
}

const NOBODY = { total: 0, preceding: 0, previous_key: null, previous_id: null }

interface MemberRow extends Omit<Member['user'], 'id'>, Pick<Member, 'id' | 'second_factor' | 'invited_by'> {
  readonly user_id: string | null
  readonly role_id: number
  readonly role_code: string
  readonly role_label: string
  readonly role_rank: number
  readonly accepted_at: string | null
  readonly revoked_at: string | null
  readonly created_at: string
  readonly sort_key: string
  readonly total: number | null
  readonly preceding: number | null
  readonly previous_key: string | null
  readonly previous_id: string | null
}

const timeOrNull = (text: string | null) => (text === null ? null : timestampText(text))

const memberOf = (row: MemberRow): Member => ({
  id: row.id,
  user: {
    id: row.user_id,
    email: row.email,
    full_name: row.full_name,
    avatar_url: row.avatar_url,
    disabled: row.disabled,
  },
  role: { id: row.role_id, code: row.role_code, label: row.role_label, rank: row.role_rank },
  second_factor: row.second_factor,
  invited_by: row.invited_by,
  accepted_at: timeOrNull(row.accepted_at),
  revoked_at: timeOrNull(row.revoked_at),
  created_at: timestampText(row.created_at),
})

/** Returns a member or former member of the tenant, an invited person for the id of an open invitation, or null. */
export async function findMember(sql: TenantTransaction, id: string): Promise<Member | null> {
  const [member] = await sql<Member>`
    select m.id,
           json_build_object('id', u.id, 'email', u.email, 'full_name', u.full_name,
                              'avatar_url', u.avatar_url, 'disabled', u.disabled_at is not null) as user,
           json_build_object('id', r.id, 'code', r.code, 'label', r.label, 'rank', r.rank) as role,
           app.has_second_factor(u.id) as second_factor, m.invited_by, m.accepted_at, m.revoked_at, m.created_at
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

/** Ends the sessions of a user in the tenant. Returns how many, also expired ones. Requires the lock of their membership. */
export async function endSessionsOf(sql: TenantTransaction, userId: string): Promise<number> {
  const ended = await sql`
    update app.sessions set revoked_at = now()
     where user_id = ${userId} and tenant_id = (select app.current_tenant()) and revoked_at is null
    returning revoked_at`
  return ended.length
}

/** Revokes a locked membership, its sessions and any open invitation of its user. Returns the user and the time. */
export async function revokeMembership(
  sql: TenantTransaction,
  membershipId: string,
): Promise<{ user_id: string; revoked_at: string }> {
  const [revoked] = await sql<{ user_id: string; revoked_at: string }>`
    update app.memberships set revoked_at = now() where id = ${membershipId} returning user_id, revoked_at`
  if (revoked === undefined) throw new Error('the locked membership is gone')
  await endSessionsOf(sql, revoked.user_id)
  await sql`
    select app.delete_invitation(i.id)
      from app.invitations i join app.users u on u.email = i.email where u.id = ${revoked.user_id}`
  return revoked
}

/** Returns how many live API keys of the tenant a user made. Null is nobody. */
export async function countKeysOf(sql: TenantTransaction, userId: string | null): Promise<number> {
  const [row] = await sql<{ live: number }>`
    select count(*)::integer as live from app.api_keys
     where created_by = ${userId}::uuid and revoked_at is null and expires_at > now()`
  return row?.live ?? 0
}

/** Why nobody is vouched for. */
type ResetRefusal = 'no-member' | 'beyond' | 'oneself' | 'no-factor'

/**
 * Requests the reset of a member's second factor, unless one is open. Returns null, or why it is refused. Rejects with the PostgresError
 * TN401, TN403 or TN428 when the session, its permission or its step-up is gone.
 */
export async function requestFactorReset(
  call: TicketRun,
  ticket: Ticket,
  wanted: { id: string; resetHours: number; stepUpSeconds: number; source: Required<RequestSource> },
): Promise<ResetRefusal | null> {
  const { id, resetHours, stepUpSeconds, source } = wanted
  const [row] = await ticket.present(
    (bytes) => call<{ refusal: ResetRefusal | null }>`
      select app.request_factor_reset(
        ${bytes}, ${id}, ${resetHours}, ${stepUpSeconds}, ${sourceValue(source)}::app.source) as refusal`,
  )
  if (row === undefined) throw new Error('app.request_factor_reset returned no row')
  return row.refusal
}
