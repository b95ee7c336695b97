import type { TicketRun } from '#shared/db/calls.ts'
import { limitValue, sourceValue } from '#shared/db/composite.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'
import type { Limit } from '#shared/rate-limit/limit.ts'
import type { RequestSource } from '#shared/schema/client.ts'
import type { Language } from '#shared/schema/language.ts'
import { BEGINNING, type Key, type ListRow } from '#shared/schema/page.ts'
import type { InvitationRecord } from '#shared/identity/member.ts'
import type { Ticket } from '#shared/identity/ticket.ts'

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

/** Why an invitation is refused. */
export type InvitationRefusal =
  | 'tenant-limit'
  | 'no-invitation'
  | 'no-role'
  | 'role-beyond'
  | 'invitation-beyond'
  | 'stopped'
  | 'already-member'
  | 'too-soon'

interface RefusedInvitation {
  readonly refusal: InvitationRefusal
  readonly wait_seconds: number
}

interface IssuedInvitation extends Pick<InvitationRecord, 'id' | 'created_at' | 'expires_at' | 'bounced_at'> {
  readonly refusal: null
  /** Whether its mail was added. */
  readonly mailed: boolean
  /** As the open invitation spells it, or null without one. */
  readonly email: string | null
  readonly role: string
}

export interface NewInvitation {
  readonly email: string
  /** Null renews the open invitation for the address. */
  readonly role: string | null
  /** Of the mail, for somebody without an account. Null: that of the open invitation, else the inviter's own. */
  readonly language: Language | null
  readonly nonce: string
  readonly tokenHash: Buffer
  readonly ttlSeconds: number
  readonly resendSeconds: number
  readonly tenantLimit: Limit
  readonly recipientLimit: Limit
  readonly source: Required<RequestSource>
  /** The greatest age of the session's last step-up, or null when it needs none. */
  readonly stepUpSeconds: number | null
}

/**
 * Creates an invitation in the name of the ticket's user, or replaces the token of the open one for the address. Adds its mail and
 * its audit entry. One call is the whole transaction, so that no lock waits for the service. It runs the same statements for any
 * address. Rejects with the PostgresError TN401, TN403 or TN428 when the session, its permission or its step-up is gone.
 */
export async function issueInvitation(
  call: TicketRun,
  ticket: Ticket,
  {
    email,
    role,
    language,
    nonce,
    tokenHash,
    ttlSeconds,
    resendSeconds,
    tenantLimit,
    recipientLimit,
    source,
    stepUpSeconds,
  }: NewInvitation,
): Promise<RefusedInvitation | IssuedInvitation> {
  const [row] = await ticket.present(
    (bytes) => call<RefusedInvitation | IssuedInvitation>`
      select * from app.issue_invitation(
        ${bytes}, ${email}, ${role}, ${tokenHash}, ${nonce}, ${ttlSeconds}, ${resendSeconds},
        ${limitValue(tenantLimit)}::app.limit,
        ${limitValue(recipientLimit)}::app.limit,
        ${sourceValue(source)}::app.source, ${language}, ${stepUpSeconds})`,
  )
  if (row === undefined) throw new Error('app.issue_invitation returned no row')
  return row
}

/** Changes the role that an open invitation will grant. The caller becomes its inviter: they vouch for the role. */
export async function setInvitedRole(sql: TenantTransaction, id: string, roleId: number): Promise<void> {
  await sql`
    update app.tokens set role_id = ${roleId}::integer
     where id = (select i.id from app.invitations i where i.id = ${id})`
  await sql`update app.memberships set role_id = ${roleId}::integer where invitation_id = ${id}`
}

/** Deletes an open invitation, and with it the membership that waits for it. */
export async function deleteInvitation(sql: TenantTransaction, id: string): Promise<void> {
  await sql`select app.delete_invitation(${id})`
}
