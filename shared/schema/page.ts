import * as v from 'valibot'
import { fault } from '#shared/schema/fault.ts'
import { hasAtMost, isStorable } from '#shared/schema/text.ts'
import { sentTime, timestampKey } from '#shared/schema/timestamp.ts'

const MAX_LIMIT = 100
const DEFAULT_LIMIT = 50

/**
 * The position of an item in its list: the value that the list is ordered by, as text, and the item's id. A list by age
 * selects `to_json(created_at)`: unlike a Date, it keeps the microseconds.
 */
export type Key = readonly [sortKey: string, id: string]

// A list by age begins after BEGINNING, or before END. A null with `coalesce` in the statement would be slower: `coalesce` is
// not leakproof, so under row-level security the planner would not use the index for the cursor.
export const BEGINNING: Key = ['-infinity', '00000000-0000-0000-0000-000000000000']
export const END: Key = ['infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff']

/** An item of a list, with its position. */
export interface ListRow<Item> {
  readonly item: Item
  readonly key: Key
}

/** Returns an item of a list by age. `at` is its time, as Postgres wrote it in UTC. */
export const rowByAge = <Item>(item: Item, { at, id }: { at: string; id: string }): ListRow<Item> => ({
  item,
  // Computed when it is read: a page needs the key of its last item alone.
  get key(): Key {
    return [timestampKey(at), id]
  },
})

/** One page of a list. */
export interface Page<Item> {
  readonly data: readonly Item[]
  readonly next_cursor: string | null
}

/** Returns the schema of a page of such items. */
export const pageOf = <const Item extends v.GenericSchema<unknown, unknown>>(item: Item) =>
  v.object({
    data: v.array(item),
    next_cursor: v.nullable(v.pipe(v.string(), v.examples(['WyIyMDAwIiwiMGE1YjhmNTIiXQ']))),
  })

/** Returns the cursor of a position. */
export const encodeCursor = (key: Key): string => Buffer.from(JSON.stringify(key)).toString('base64url')

/** Returns a page of `rows`. Requires rows in the list's order, and one row more than `limit` if the list continues. */
export function page<Item>(rows: readonly ListRow<Item>[], limit: number): Page<Item> {
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return {
    data: shown.map(({ item }) => item),
    next_cursor: last === undefined ? null : encodeCursor(last.key),
  }
}

const INVALID_CURSOR = fault({ code: 'invalid-cursor' })
const INVALID_LIMIT = fault({ code: 'out-of-range', min: 1, max: MAX_LIMIT, type: 'a number' })

/** Returns the schema of a cursor. It parses to the position. */
export const cursorOf = (sortKey: v.GenericSchema<string>, description: string) =>
  v.pipe(
    v.string(fault({ code: 'repeated' })),
    v.maxLength(1000, INVALID_CURSOR),
    v.description(description),
    v.rawTransform(({ dataset, addIssue, NEVER }): Key => {
      const key = decode(dataset.value, v.strictTuple([sortKey, v.pipe(v.string(), v.uuid())]))
      if (key !== null) return key
      addIssue({ message: INVALID_CURSOR })
      return NEVER
    }),
  )

/** Returns the query fields of a list. `cursor` parses to the position of the last item on the previous page. */
const pageQuery = (sortKey: v.GenericSchema<string>) => ({
  limit: v.optional(
    v.pipe(
      v.string(fault({ code: 'repeated' })),
      v.regex(/^[1-9]\d{0,2}$/, INVALID_LIMIT),
      v.metadata({ type: 'integer', minimum: 1, maximum: MAX_LIMIT }),
      v.transform(Number),
      v.maxValue(MAX_LIMIT, INVALID_LIMIT),
    ),
    String(DEFAULT_LIMIT),
  ),
  cursor: v.optional(cursorOf(sortKey, 'The `next_cursor` of the previous page.')),
})

/** The query fields of a list ordered by a text. */
export const PageQuery = pageQuery(v.pipe(v.string(), v.maxLength(400), v.check(isStorable)))

/** The query fields of a list ordered by age. */
export const AgePageQuery = pageQuery(sentTime(INVALID_CURSOR))

function decode(cursor: string, schema: v.GenericSchema<unknown, Key>): Key | null {
  try {
    const parsed = v.safeParse(schema, JSON.parse(Buffer.from(cursor, 'base64url').toString()))
    return parsed.success ? parsed.output : null
  } catch {
    return null
  }
}

/** The text that a list is searched for. */
export const SearchText = v.pipe(
  v.string(fault({ code: 'repeated' })),
  v.check(hasAtMost(200), fault({ code: 'too-long', max: 200 })),
  v.metadata({ maxLength: 200 }),
  v.check(isStorable, fault({ code: 'not-storable', must: 'be text' })),
  v.description('The text to search for.'),
)

/** Returns the schema of a filter: one or more of the words, separated by commas. */
export const someOf = <const Word extends string>(words: readonly Word[]) =>
  v.pipe(
    v.string(fault({ code: 'repeated' })),
    v.description(`One or more of ${words.map((word) => `\`${word}\``).join(', ')}, separated by commas.`),
    v.transform((text) => text.split(',')),
    v.array(v.picklist(words, fault({ code: 'not-a-choice', choices: `some of ${words.join(', ')}` }))),
  )
