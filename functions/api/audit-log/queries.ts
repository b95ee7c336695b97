import * as v from 'valibot'
import type { TenantTransaction } from '#shared/db/scope.ts'
import { encodeCursor, END, type Key, type ListRow, rowByAge } from '#shared/schema/page.ts'
import { Id } from '#shared/schema/id.ts'
import { Timestamp, timestampKey, timestampText } from '#shared/schema/timestamp.ts'
import { User } from '#shared/identity/user.ts'

const Change = v.nullable(v.pipe(v.record(v.string(), v.unknown()), v.examples([{ role: 'sales' }])))

const Actor = v.union([
  v.object({ type: v.literal('user'), id: Id, email: User.entries.email, full_name: User.entries.full_name }),
  v.object({ type: v.literal('key'), id: Id, name: v.pipe(v.string(), v.examples(['Nightly export'])) }),
])

/** An entry of the audit log, as the API shows it. */
export const Entry = v.pipe(
  v.object({
    id: Id,
    occurred_at: Timestamp,
    action: v.pipe(v.string(), v.examples(['membership.role_changed'])),
    actor: v.nullable(Actor),
    target: v.object({
      type: v.pipe(v.string(), v.examples(['membership'])),
      id: v.nullable(Id),
      name: v.pipe(
        v.nullable(v.string()),
        v.description(
          'What the tenant calls the target now: the name or address of a person, the number of a deal. Null: it has no name, or is gone.',
        ),
        v.examples(['Ann Archer']),
      ),
    }),
    before: Change,
    after: Change,
    request_id: v.nullable(v.pipe(v.string(), v.examples(['0a5b8f52-6c1d-4f7e-9b3a-2d4c6e8f0a1b']))),
    client_request_id: v.nullable(v.pipe(v.string(), v.examples(['order-import-20261122-001']))),
    ip_hash: v.nullable(v.pipe(v.string(), v.hexadecimal(), v.examples(['9f86d081884c7d659a2feaa0c55ad015']))),
  }),
  v.title('AuditEntry'),
)

export type Entry = Readonly<v.InferOutput<typeof Entry>>

/** Where a page is among the entries that its filters find. */
export const Position = v.pipe(
  v.object({
    total: v.pipe(
      v.number(),
      v.integer(),
      v.description('How many entries the filters find, up to 10,000.'),
      v.examples([514]),
    ),
    more: v.pipe(v.boolean(), v.description('Whether they find more than `total`.')),
    preceding: v.pipe(
      v.nullable(v.pipe(v.number(), v.integer())),
      v.description('How many of them precede the page. Null: more than 10,000.'),
      v.examples([50]),
    ),
    previous_cursor: v.pipe(
      v.nullable(v.string()),
      v.description(
        'The `cursor` of the previous page. Null: that is the first page, or the page is beyond 10,000 entries.',
      ),
      v.examples(['WyIyMDAwIiwiMGE1YjhmNTIiXQ']),
    ),
  }),
  v.title('AuditPosition'),
)

export type Position = Readonly<v.InferOutput<typeof Position>>

export interface EntrySearch {
  readonly limit: number
  readonly before: Key | null
  /** Their entries alone. */
  readonly actors: readonly string[] | null
  readonly action: string | null
  /** Also the ROUTINE_ACTIONS. */
  readonly routine: boolean
  readonly from: string | null
  readonly to: string | null
}

/** The filters as the functions of the database take them. */
const sent = ({ before, actors, action, routine, from, to }: EntrySearch) => {
  const [at, id] = before ?? END
  const ids = actors === null ? null : `{${actors.join(',')}}`
  return { at, id, actors: ids, action, routine, from: from ?? '-infinity', to: to ?? 'infinity' }
}

/** Returns entries of the tenant's audit log, newest first: up to `limit` + 1 of them. */
export async function searchEntries(sql: TenantTransaction, search: EntrySearch): Promise<ListRow<Entry>[]> {
  const { at, id, actors, action, routine, from, to } = sent(search)
  const rows = await sql<EntryRow>`
    select e.id, e.occurred_at::text, e.action, e.actor_id, e.actor_email, e.actor_name, e.key_id, e.key_name, e.target_type, e.target_id, e.target_name,
           e.before, e.after, e.request_id, e.client_request_id, e.ip_hash
      from app.search_audit_log(
        ${at}::text::timestamptz, ${id}, ${actors}::text::uuid[], ${action}, ${routine}, ${from}::text::timestamptz,
        ${to}::text::timestamptz, ${search.limit + 1}) e`
  return rows.map((row) => rowByAge(entryOf(row), { at: row.occurred_at, id: row.id }))
}

const MOST_COUNTED = 10_000

/** Returns where the page of the search is among all entries that its filters find. */
export async function findPosition(sql: TenantTransaction, search: EntrySearch): Promise<Position> {
  const { at, id, actors, action, routine, from, to } = sent(search)
  const [row] = await sql<PositionRow>`
    select p.total, p.preceding, p.previous_at::text, p.previous_id
      from app.place_audit_page(
        ${at}::text::timestamptz, ${id}, ${actors}::text::uuid[], ${action}, ${routine}, ${from}::text::timestamptz,
        ${to}::text::timestamptz, ${search.limit}, ${MOST_COUNTED + 1}) p`
  const { total = 0, preceding = 0, previous_at: previousAt = null, previous_id: previousId = null } = row ?? {}
  return {
    total: Math.min(total, MOST_COUNTED),
    more: total > MOST_COUNTED,
    preceding: preceding > MOST_COUNTED ? null : preceding,
    previous_cursor:
      previousAt === null || previousId === null ? null : encodeCursor([timestampKey(previousAt), previousId]),
  }
}

interface PositionRow {
  readonly total: number
  readonly preceding: number
  readonly previous_at: string | null
  readonly previous_id: string | null
}

interface EntryRow extends Omit<Entry, 'actor' | 'target'> {
  readonly actor_id: string | null
  readonly actor_email: string
  readonly actor_name: string | null
  readonly key_id: string | null
  readonly key_name: string
  readonly target_type: string
  readonly target_id: string | null
  readonly target_name: string | null
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
  actor: actorOf(row),
  target: { type: row.target_type, id: row.target_id, name: row.target_name },
})

function actorOf(row: EntryRow): Entry['actor'] {
  if (row.key_id !== null) return { type: 'key', id: row.key_id, name: row.key_name }
  if (row.actor_id === null) return null
  return { type: 'user', id: row.actor_id, email: row.actor_email, full_name: row.actor_name }
}
