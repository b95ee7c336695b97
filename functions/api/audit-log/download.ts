import * as v from 'valibot'
import { type MemberContext, recordAudit } from '#shared/audit/record-audit.ts'
import type { TenantTransaction } from '#shared/db/scope.ts'
import { file, type Reply } from '#shared/http/reply.ts'
import { encodeCursor, type ListRow } from '#shared/schema/page.ts'
import { Timestamp } from '#shared/schema/timestamp.ts'
import { type Format, FORMATS, roomOfFile, writeFile } from './file.ts'
import { type Entry, type EntrySearch, searchEntries } from './queries.ts'

/** What a file contains, and where the next one begins. */
export const Part = v.pipe(
  v.object({
    entries: v.pipe(v.number(), v.integer(), v.examples([514])),
    newest: v.nullable(Timestamp),
    oldest: v.nullable(Timestamp),
    next_cursor: v.pipe(v.nullable(v.string()), v.examples(['WyIyMDAwIiwiMGE1YjhmNTIiXQ'])),
  }),
  v.title('AuditPart'),
)

type Part = Readonly<v.InferOutput<typeof Part>>

// A statement has two seconds, also on a busy database.
const BATCH = 500

interface Found {
  readonly rows: readonly ListRow<Entry>[]
  readonly part: Part
}

/** Finds the entries of the file that begins at the position of the search. */
async function findFile(sql: TenantTransaction, search: EntrySearch): Promise<Found> {
  const rows: ListRow<Entry>[] = []
  const fits = roomOfFile()
  let more = true
  for (let isFull = false; more && !isFull; ) {
    const batch = await searchEntries(sql, { ...search, before: rows.at(-1)?.key ?? search.before, limit: BATCH })
    const end = batch.findIndex(({ item }) => !fits(item))
    isFull = end !== -1
    more = isFull || batch.length > BATCH
    rows.push(...(isFull ? batch.slice(0, end) : batch))
  }
  const last = rows.at(-1)
  return {
    rows,
    part: {
      entries: rows.length,
      newest: rows[0]?.item.occurred_at ?? null,
      oldest: last?.item.occurred_at ?? null,
      next_cursor: more && last !== undefined ? encodeCursor(last.key) : null,
    },
  }
}

/** Returns what the file that begins at the position of the search contains. */
export const findPart = async (sql: TenantTransaction, search: EntrySearch): Promise<Part> =>
  (await findFile(sql, search)).part

/** Writes the file that begins at the position of the search, and records the download in the same transaction. */
export async function download(context: MemberContext, search: EntrySearch, format: Format): Promise<Reply<string>> {
  const { rows, part } = await findFile(context.sql, search)
  const { next_cursor: next, ...range } = part
  const { actors, action } = search
  const { tenant } = context.principal
  await recordAudit(context, {
    action: 'audit_log.downloaded',
    targetId: tenant.id,
    after: { format, ...range, ...(action !== null && { action }), ...(actors !== null && { actors }) },
  })
  return file(FORMATS[format], writeFile(format, rows), {
    'content-disposition': `attachment; filename="audit-log-${tenant.slug}.${format}"`,
    ...(next !== null && { link: `<${addressOf(search, format, next)}>; rel="next"` }),
  })
}

function addressOf({ actors, action, routine, from, to }: EntrySearch, format: Format, cursor: string): string {
  const query = new URLSearchParams({ format, cursor })
  if (actors !== null) query.set('actor', actors.join(','))
  if (action !== null) query.set('action', action)
  if (!routine) query.set('leave_out', 'sign-ins')
  if (from !== null) query.set('from', from)
  if (to !== null) query.set('to', to)
  return `/v1/audit-log?${query.toString()}`
}
