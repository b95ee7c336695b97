import * as v from 'valibot'
import type { TenantTransaction } from '#shared/db/scope.ts'
import { BEGINNING, END, type Key, type ListRow, rowByAge } from '#shared/schema/page.ts'
import { Id } from '#shared/schema/id.ts'
import { Timestamp, timestampText } from '#shared/schema/timestamp.ts'
import type { Ticket } from '#shared/identity/ticket.ts'
import { User } from '#shared/identity/user.ts'

const Change = v.nullable(v.pipe(v.record(v.string(), v.unknown()), v.examples([{ role: 'sales' }])))

const Actor = v.object({ id: Id, email: User.entries.email, full_name: User.entries.full_name })

/** An entry of the audit log, as the API shows it. */
export const Entry = v.pipe(
  v.object({
    id: Id,
    occurred_at: Timestamp,
    action: v.pipe(v.string(), v.examples(['membership.role_changed'])),
    actor: v.nullable(Actor),
    target: v.object({ type: v.pipe(v.string(), v.examples(['membership'])), id: v.nullable(Id) }),
    before: Change,
    after: Change,
    request_id: v.nullable(v.pipe(v.string(), v.examples(['0a5b8f52-6c1d-4f7e-9b3a-2d4c6e8f0a1b']))),
    client_request_id: v.nullable(v.pipe(v.string(), v.examples(['order-import-20261122-001']))),
    ip_hash: v.nullable(v.pipe(v.string(), v.hexadecimal(), v.examples(['9f86d081884c7d659a2feaa0c55ad015']))),
  }),
  v.title('AuditEntry'),
)

export type Entry = Readonly<v.InferOutput<typeof Entry>>

/** Whom the ids in entries name: `id` is that of a membership or of an invitation. An invited person has no user. */
export const NamedMember = v.pipe(
  v.object({ id: Id, user: v.object({ ...Actor.entries, id: v.nullable(Id) }) }),
  v.title('NamedMember'),
)

export type NamedMember = Readonly<v.InferOutput<typeof NamedMember>>

export interface EntrySearch {
  readonly limit: number
  readonly before: Key | null
  readonly actor: string | null
  readonly action: string | null
  readonly from: string | null
  readonly to: string | null
}

/** Returns entries of the tenant's audit log, newest first: up to `limit` + 1 of them. */
export async function searchEntries(
  sql: TenantTransaction,
  { limit, before, actor, action, from, to }: EntrySearch,
): Promise<ListRow<Entry>[]> {
  const [occurredBefore, idBefore] = before ?? END
  const rows = await sql<EntryRow>`
    select e.id, e.occurred_at::text, e.action, e.actor_id, e.actor_email, e.actor_name, e.target_type, e.target_id, e.before, e.after,
           e.request_id, e.client_request_id, e.ip_hash
      from app.search_audit_log(
        ${occurredBefore}::text::timestamptz, ${idBefore}, ${actor}, ${action},
        ${from ?? '-infinity'}::text::timestamptz, ${to ?? 'infinity'}::text::timestamptz, ${limit + 1}) e`
  return rows.map((row) => rowByAge(entryOf(row), { at: row.occurred_at, id: row.id }))
}

interface EntryRow extends Omit<Entry, 'actor' | 'target'> {
  readonly actor_id: string | null
  readonly actor_email: string
  readonly actor_name: string | null
  readonly target_type: string
  readonly target_id: string | null
}

const entryOf = (row: EntryRow): Entry => ({
  id: row.id,
  occurred_at: timestampText(row.occurred_at),
  action: row.action,
  before: row.before,
  after: row.after,
  request_id: row.request_id,
  client_request_id: row.client_request_id,
  ip_hash: row.ip_hash,
  actor: row.actor_id === null ? null : { id: row.actor_id, email: row.actor_email, full_name: row.actor_name },
  target: { type: row.target_type, id: row.target_id },
})

/** Returns the members of the ticket's tenant, former and invited ones among them, oldest first. */
export const nameMembers = (sql: TenantTransaction, ticket: Ticket, most: number): Promise<NamedMember[]> =>
  ticket.present(async (bytes) => {
    const rows = await sql<NamedRow>`
      select id, user_id, email, full_name
        from app.list_members(${bytes}, true, true, true, null, ${BEGINNING[0]}::text::timestamptz, ${BEGINNING[1]}, ${most})`
    return rows.map(({ id, user_id, email, full_name }) => ({ id, user: { id: user_id, email, full_name } }))
  })

interface NamedRow extends Omit<NamedMember['user'], 'id'> {
  readonly id: string
  readonly user_id: string | null
}
