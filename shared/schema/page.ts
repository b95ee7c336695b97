import * as v from 'valibot'
import { isStorable } from '#shared/schema/text.ts'
import { isTimestamp } from '#shared/schema/timestamp.ts'

const MOST = 100
const USUAL = 50

/** One page of a list, in the order of its keyset. */
export interface Page<Item> {
  readonly data: readonly Item[]
  readonly next_cursor: string | null
}

/** The schema of a page of such items. */
export const pageOf = <const Item extends v.GenericSchema<unknown, unknown>>(item: Item) =>
  v.object({
    data: v.array(item),
    next_cursor: v.nullable(v.pipe(v.string(), v.examples(['WyIyMDAwIiwiMGE1YjhmNTIiXQ']))),
  })

type Key = readonly [sortKey: string, id: string]

/** A position in a list by age: the time to the microsecond, and the id. */
export type AgeKey = readonly [at: string, id: string]

/** Before the first item of a list by age, and after its last. */
export const BEGINNING: AgeKey = ['-infinity', '00000000-0000-0000-0000-000000000000']
export const END: AgeKey = ['infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff']

/** What a list may be searched by. */
export const SearchText = v.pipe(
  v.string('must be given once'),
  v.maxLength(200, 'must have at most 200 characters'),
  v.check(isStorable, 'must be text'),
  v.description('What to look for.'),
)

/** A filter of a list: some of these words, with commas between them. */
export const someOf = <const Word extends string>(words: readonly Word[]) =>
  v.pipe(
    v.string('must be given once'),
    v.description(`Some of ${words.map((word) => `\`${word}\``).join(', ')}, with a comma between them.`),
    v.transform((text) => text.split(',')),
    v.array(v.picklist(words, `must be some of ${words.join(', ')}`)),
  )

const notACursor = 'is not a cursor of this list'

const Text = v.pipe(v.string(), v.maxLength(400), v.check(isStorable))

/** A time to the microsecond, as lists by age keep it in their cursors. */
const Time = v.pipe(v.string(), v.regex(/\.\d{6}Z$/), v.check(isTimestamp))

/** The query fields of every list. `cursor` comes out as the key of the last item that was shown. */
const pageQuery = (sortKey: v.GenericSchema<string>) => ({
  limit: v.optional(
    v.pipe(
      v.string('must be given once'),
      v.regex(/^[1-9]\d{0,2}$/, `must be a number from 1 to ${MOST}`),
      v.metadata({ type: 'integer', minimum: 1, maximum: MOST }),
      v.transform(Number),
      v.maxValue(MOST, `must be a number from 1 to ${MOST}`),
    ),
    String(USUAL),
  ),
  cursor: v.optional(
    v.pipe(
      v.string('must be given once'),
      v.maxLength(1000, notACursor),
      v.description('The `next_cursor` of the page before.'),
      v.rawTransform(({ dataset, addIssue, NEVER }): Key => {
        const key = decode(dataset.value, v.strictTuple([sortKey, v.pipe(v.string(), v.uuid())]))
        if (key !== null) return key
        addIssue({ message: notACursor })
        return NEVER
      }),
    ),
  ),
})

/** Of a list in the order of a text. */
export const PageQuery = pageQuery(Text)

/** Of a list in the order of age. */
export const AgePageQuery = pageQuery(Time)

function decode(cursor: string, schema: v.GenericSchema<unknown, Key>): Key | null {
  try {
    const parsed = v.safeParse(schema, JSON.parse(Buffer.from(cursor, 'base64url').toString()))
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
