import * as v from 'valibot'
import type { TenantTransaction } from '#shared/db/scope.ts'
import { BEGINNING, END, type Key, type ListRow } from '#shared/schema/page.ts'
import { Id } from '#shared/schema/id.ts'
import { Timestamp } from '#shared/schema/timestamp.ts'
import type { Ticket } from '#shared/session/ticket.ts'
import { User } from '#shared/user/user.ts'

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

// The months that a page is searched in first.
const RECENT_MS = 62 * 24 * 3_600_000
// Postgres plans each partition that a search may reach, so a search goes back a little further than it needs.
const MARGIN = 1.5

/** Returns entries of the tenant's audit log, newest first: up to `limit` + 1 of them. */
export async function searchEntries(sql: TenantTransaction, search: EntrySearch): Promise<ListRow<Entry>[]> {
  const { limit, before, from, to } = search
  const ends = [before?.[0], to].map((time) => Date.parse(time ?? '')).filter((time) => !Number.isNaN(time))
  const boundary = Math.min(Date.now(), ...ends) - RECENT_MS
  // A second beyond the end, which has microseconds.
  const recent = await entriesBetween(sql, search, boundary, ends.length > 0 ? Math.min(...ends) + 1000 : Infinity)
  if (recent.length > limit || Date.parse(from ?? '') >= boundary) return recent
  // How far back the rest of the page is, if the tenant wrote as much before. Without an entry, as far as there are any.
  const reach = boundary - (MARGIN * RECENT_MS * (limit + 1 - recent.length)) / recent.length
  const older = await entriesBetween(sql, { ...search, limit: limit - recent.length }, reach, boundary)
  const found = [...recent, ...older]
  if (found.length > limit || Date.parse(from ?? '') >= reach || reach === -Infinity) return found
  return [...found, ...(await entriesBetween(sql, { ...search, limit: limit - found.length }, -Infinity, reach))]
}

/**
 * Searches the partitions from `sinceMs` up to `untilMs` alone. Only a bound of an immutable expression keeps the planner from
 * planning every partition, and to_timestamp is one; a cast of text is not.
 */
async function entriesBetween(
  sql: TenantTransaction,
  { limit, before, actor, action, from, to }: EntrySearch,
  sinceMs: number,
  untilMs: number,
): Promise<ListRow<Entry>[]> {
  const [occurredBefore, idBefore] = before ?? END
  const rows = await sql<Entry & { readonly sort_key: string }>`
    select a.id, a.occurred_at, a.action, a.before, a.after, a.request_id, a.client_request_id,
           encode(a.ip_hash, 'hex') as ip_hash,
           case when u.id is not null
                then json_build_object('id', u.id, 'email', u.email, 'full_name', u.full_name) end as actor,
           json_build_object('type', a.target_type, 'id', a.target_id) as target, to_json(a.occurred_at) as sort_key
      from app.audit_log a
      left join app.users u on u.id = a.actor_user_id
     where (a.occurred_at, a.id) < (${occurredBefore}::text::timestamptz, ${idBefore}::uuid)
       and a.occurred_at >= to_timestamp(${sinceMs / 1000}::float8) and a.occurred_at < to_timestamp(${untilMs / 1000}::float8)
       and a.occurred_at >= ${from ?? '-infinity'}::text::timestamptz
       and a.occurred_at < ${to ?? 'infinity'}::text::timestamptz
       and (${actor}::uuid is null or a.actor_user_id = ${actor}::uuid)
       and (${action}::text is null or a.action = ${action}::text)
     order by a.occurred_at desc, a.id desc
     limit ${limit + 1}`
  return rows.map(({ sort_key, ...item }) => ({ item, key: [sort_key, item.id] }))
}

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
