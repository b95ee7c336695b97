import type { FileType } from '#shared/http/reply.ts'
import type { ListRow } from '#shared/schema/page.ts'
import type { Entry } from './queries.ts'

/** The formats of a download, with their media types. */
export const FORMATS = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const satisfies Readonly<
  Record<string, FileType>
>
export type Format = keyof typeof FORMATS

/** The most entries of one file. */
export const MOST_ENTRIES = 2500

/**
 * The most bytes of one file, as Lambda sends it: a text in a JSON document. A function returns at most 6 MB
 * (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html), and the front end passes a file on through another function.
 */
export const MOST_BYTES = 4 * 1024 * 1024

/** Returns a function that says of each entry in turn whether it fits into the same file, in whatever format. The first one always does. */
export function roomOfFile(mostBytes = MOST_BYTES): (entry: Entry) => boolean {
  let [entries, bytes] = [0, 0]
  return (entry) => {
    entries += 1
    bytes += Math.max(sizeOf(csvOf(entry)), sizeOf(ndjsonOf(entry)))
    return entries === 1 || (entries <= MOST_ENTRIES && bytes <= mostBytes)
  }
}

/** Writes entries as a file. */
export const writeFile = (format: Format, rows: readonly ListRow<Entry>[]): string =>
  format === 'csv'
    ? [BYTE_ORDER_MARK, csvLine(COLUMNS), ...rows.map(({ item }) => csvOf(item))].join('')
    : rows.map(({ item }) => ndjsonOf(item)).join('')

const sizeOf = (text: string): number => Buffer.byteLength(JSON.stringify(text))

const ndjsonOf = (entry: Entry): string => `${JSON.stringify(entry)}\n`

// Without it, Excel reads letters with accents as others.
const BYTE_ORDER_MARK = '\uFEFF'

const COLUMNS = [
  'id',
  'occurred_at',
  'action',
  'actor_type',
  'actor_id',
  'actor_name',
  'actor_email',
  'target_type',
  'target_id',
  'target_name',
  'before',
  'after',
  'request_id',
  'client_request_id',
  'ip_hash',
] as const

const csvOf = ({ actor, target, before, after, ...entry }: Entry): string => {
  const cells: Readonly<Record<(typeof COLUMNS)[number], string | null | undefined>> = {
    ...entry,
    actor_type: actor?.type,
    actor_id: actor?.id,
    actor_name: actor?.type === 'key' ? actor.name : actor?.full_name,
    actor_email: actor?.type === 'user' ? actor.email : null,
    target_type: target.type,
    target_id: target.id,
    target_name: target.name,
    before: before && JSON.stringify(before),
    after: after && JSON.stringify(after),
  }
  return csvLine(COLUMNS.map((column) => cells[column] ?? ''))
}

const csvLine = (cells: readonly string[]): string => `${cells.map(csvCell).join(',')}\r\n`

// A spreadsheet takes a cell that begins so for a formula, also one in full-width characters
// (https://owasp.org/www-community/attacks/CSV_Injection). An apostrophe makes it text.
const FORMULA = /^[=+\-@\t\r\n\0＝＋－＠]/

/** Returns a cell as RFC 4180 writes it, which no spreadsheet takes for a formula. */
export const csvCell = (text: string): string => `"${(FORMULA.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`
