import type postgres from 'postgres'
import type { ReceivedEvent } from '#infra/local/aws/event-bridge.ts'
import { contradictionsIn } from './contradictions.ts'
import type { Effects, Entry, Found } from './judge.ts'
import { type Kind, kindOf } from './kinds.ts'

/** A mail, as the mailbox shows it. */
export interface Mail {
  readonly to: string
  readonly text: string | null
}

type Counts = ReadonlyMap<string, number>

const counted = (rows: readonly { id: string; count: number }[]): Counts =>
  new Map(rows.map(({ id, count }) => [id, count]))

/** Looks for everything that the requests of a ledger wrote: in the database, the mailbox and the event bus. */
export async function find(
  sql: postgres.Sql,
  entries: readonly Entry[],
  { mails, events }: { readonly mails: readonly Mail[]; readonly events: readonly ReceivedEvent[] },
): Promise<Found> {
  const [rows, jobs, audits] = [await rowsIn(sql), await jobsIn(sql), await auditsIn(sql)]
  const received = new Set(events.map(({ detail }) => String(Object(detail).id)))
  const links = linksIn(mails)
  const effects = new Map<string, Effects>()
  for (const { id, kind, target = '', repeats } of entries) {
    const { parts, action } = kindOf(kind)
    if (parts.length === 0) continue
    const own = audits.get(id)?.filter((entry) => entry.action === action) ?? []
    // A sync run has no marker of its own: the audit entry names it.
    const key = kind === 'sync' ? (own[0]?.target_id ?? '') : target || id
    effects.set(id, {
      row: repeats === undefined ? (rows[kind]?.get(ROW_BY_MARKER.has(kind) ? id : key) ?? 0) : 0,
      audit: own.length,
      event: own.filter(({ has_event }) => has_event).length,
      job: jobs[kind]?.get(key) ?? 0,
      ...(kind === 'invite' ? { links: links.get(target)?.size ?? 0 } : {}),
      unpublished: own.filter((entry) => entry.has_event && !received.has(entry.id)).length,
    })
  }
  const alive = await sql<{ id: string }[]>`select id from app.sessions where revoked_at is null`
  const contradictions = await contradictionsIn(sql)
  const published = new Set((await sql<{ id: string }[]>`select id from app.events`).map(({ id }) => id))
  const phantoms = [...received].filter((id) => !published.has(id))
  return {
    effects,
    alive: new Set(alive.map(({ id }) => id)),
    contradictions: [...contradictions, ...phantoms.map((id) => `the bus got the event ${id}, which was rolled back`)],
  }
}

/** The kinds whose row holds the marker of the request. The target of the others names the row. */
const ROW_BY_MARKER: ReadonlySet<Kind> = new Set(['sign-in', 'finish', 'recover', 'deal', 'lines', 'vendor'])

/** Counts the rows of each kind, by marker or target. */
async function rowsIn(sql: postgres.Sql): Promise<Partial<Record<Kind, Counts>>> {
  const proven = counted(
    await sql`
    select user_agent as id, count(*)::int from app.sessions where second_factor_at is not null group by 1`,
  )
  return {
    'sign-in': counted(await sql`select user_agent as id, count(*)::int from app.sessions group by 1`),
    finish: proven,
    recover: proven,
    select: counted(await sql`select id, count(*)::int from app.sessions where tenant_id is not null group by 1`),
    'sign-out': counted(await sql`select id, count(*)::int from app.sessions where revoked_at is not null group by 1`),
    invite: counted(
      await sql`select email::text as id, count(*)::int from app.tokens where purpose = 'invite' group by 1`,
    ),
    accept: counted(
      await sql`
      select u.email::text as id, count(*)::int from app.memberships m join app.users u on u.id = m.user_id
       where m.accepted_at is not null group by 1`,
    ),
    remove: counted(await sql`select id, count(*)::int from app.memberships where revoked_at is not null group by 1`),
    deal: counted(await sql`select customer_name::text as id, count(*)::int from app.deals group by 1`),
    quote: counted(await sql`select id, count(*)::int from app.deals where status = 'quoted' group by 1`),
    lines: counted(
      await sql`select color::text as id, count(*)::int from app.deal_lines where color is not null group by 1`,
    ),
    vendor: counted(
      await sql`select label::text as id, count(*)::int from app.vendor_accounts where label is not null group by 1`,
    ),
    sync: counted(await sql`select id, count(*)::int from app.sync_runs group by 1`),
  }
}

/** Counts the jobs of each kind, by target. */
async function jobsIn(sql: postgres.Sql): Promise<Partial<Record<Kind, Counts>>> {
  return {
    invite: counted(
      await sql`
      select t.email::text as id, count(*)::int
        from app.jobs j join app.tokens t on t.id = (j.payload ->> 'invitation_id')::uuid where j.kind = 'mail' group by 1`,
    ),
    accept: counted(
      await sql`
      select u.email::text as id, count(*)::int from app.jobs j join app.users u on u.id = (j.payload ->> 'user_id')::uuid
       where j.payload ->> 'template' = 'membership-added' group by 1`,
    ),
    remove: counted(
      await sql`
      select m.id, count(*)::int from app.jobs j join app.memberships m on m.user_id = (j.payload ->> 'user_id')::uuid
       where j.payload ->> 'template' = 'membership-removed' group by 1`,
    ),
    sync: counted(
      await sql`
      select payload ->> 'run_id' as id, count(*)::int from app.jobs where kind = 'sync-catalog' group by 1`,
    ),
  }
}

interface AuditRow {
  readonly id: string
  readonly marker: string
  readonly action: string
  readonly target_id: string | null
  readonly has_event: boolean
}

/** Returns the audit entries of each request. */
async function auditsIn(sql: postgres.Sql): Promise<Map<string, AuditRow[]>> {
  const rows = await sql<AuditRow[]>`
    select a.id, a.client_request_id as marker, a.action, a.target_id, e.id is not null as has_event
      from app.audit_log a left join app.events e on e.id = a.id where a.client_request_id like 'led-%'`
  return Map.groupBy(rows, ({ marker }) => marker)
}

/** Returns the different links that were mailed to each address. */
function linksIn(mails: readonly Mail[]): ReadonlyMap<string, ReadonlySet<string>> {
  const links = new Map<string, Set<string>>()
  for (const { to, text } of mails) {
    const token = tokenOf(text)
    if (token !== null) links.set(to, (links.get(to) ?? new Set()).add(token))
  }
  return links
}

/** Returns the single-use token in the text of a mail, or null. */
export const tokenOf = (text: string | null): string | null =>
  /[?]token=([A-Za-z0-9_-]{43})$/m.exec(text ?? '')?.[1] ?? null
