import * as v from 'valibot'

const MOST = 100
const USUAL = 50

/** One page of a list, in the order of its keyset. */
export interface Page<Item> {
  readonly data: readonly Item[]
  readonly next_cursor: string | null
}

type Key = readonly [sortKey: string, id: string]

const CursorKey = v.strictTuple([
  v.pipe(v.string(), v.maxLength(400), v.check(isStorable)),
  v.pipe(v.string(), v.uuid()),
])

/** Text that Postgres can hold: well-formed, without NUL. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

const notACursor = 'is not a cursor of this list'

/** The query fields of every list. `cursor` comes out as the key of the last item that was shown, or null at the start. */
export const PageQuery = {
  limit: v.optional(
    v.pipe(
      v.string('must be given once'),
      v.regex(/^[1-9]\d{0,2}$/, `must be a number from 1 to ${MOST}`),
      v.transform(Number),
      v.maxValue(MOST, `must be a number from 1 to ${MOST}`),
    ),
    String(USUAL),
  ),
  cursor: v.optional(
    v.pipe(
      v.string('must be given once'),
      v.maxLength(1000, notACursor),
      v.rawTransform(({ dataset, addIssue, NEVER }): Key | null => {
        const key = decode(dataset.value)
        if (key !== null) return key
        addIssue({ message: notACursor })
        return NEVER
      }),
    ),
  ),
}

function decode(cursor: string): Key | null {
  try {
    const parsed = v.safeParse(CursorKey, JSON.parse(Buffer.from(cursor, 'base64url').toString()))
    return parsed.success ? parsed.output : null
  } catch {
    return null
  }
}

/**
 * Cuts a page out of rows that were read one past `limit`, in keyset order; `keyOf` names the last shown row's key.
 */
export function page<Row, Item>(
  rows: readonly Row[],
  limit: number,
  keyOf: (row: Row) => Key,
  show: (row: Row) => Item,
): Page<Item> {
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return {
    data: shown.map(show),
    next_cursor: last === undefined ? null : Buffer.from(JSON.stringify(keyOf(last))).toString('base64url'),
  }
}
