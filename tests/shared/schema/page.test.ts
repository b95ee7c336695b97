import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { type ListRow, page, PageQuery } from '#shared/schema/page.ts'

const Query = v.object(PageQuery)
const parse = (query: Record<string, unknown>) => v.safeParse(Query, query)
const encode = (key: unknown): string => Buffer.from(JSON.stringify(key)).toString('base64url')

const rows = (count: number): ListRow<string>[] =>
  Array.from({ length: count }, (_, index) => ({ item: `row ${index}`, key: [`row ${index}`, randomUUID()] }))

describe('page', () => {
  it('returns the items up to the limit, and a cursor only if there is one more', () => {
    for (const [count, limit] of [
      [0, 50],
      [1, 50],
      [49, 50],
      [50, 50],
      [51, 50],
      [1, 1],
      [2, 1],
      [101, 100],
    ] as const) {
      const all = rows(count)
      const { data, next_cursor: next } = page(all, limit)
      expect(data).toEqual(all.slice(0, limit).map(({ item }) => item))
      expect(next === null, `${count} rows, limit ${limit}`).toBe(count <= limit)
    }
  })

  it('returns a cursor that parses to the key of the last item', () => {
    for (const sortKey of ['plain', '', "O'Brien", 'Ünïcödé \u{1f600}', '"]\\', 'a'.repeat(400)]) {
      const shown = { item: 'shown', key: [sortKey, randomUUID()] as const }
      const { next_cursor: cursor } = page([shown, ...rows(1)], 1)
      expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/)
      const parsed = parse({ cursor })
      expect(parsed.output).toMatchObject({ cursor: shown.key, limit: 50 })
    }
  })

  it('continues a list at its cursor without a gap or a repetition', () => {
    const all = rows(23)
    const seen: unknown[] = []
    let rest = all
    for (;;) {
      const { data, next_cursor: next } = page(rest.slice(0, 6), 5)
      seen.push(...data)
      if (next === null) break
      const key = v.parse(Query, { cursor: next }).cursor
      rest = all.slice(all.findIndex((row) => row.key[1] === key?.[1]) + 1)
    }
    expect(seen).toEqual(all.map(({ item }) => item))
  })
})

describe('the limit of a page', () => {
  it('accepts a limit from 1 to 100 and defaults to 50', () => {
    expect(parse({}).output).toEqual({ limit: 50 })
    for (const limit of ['1', '50', '100']) expect(parse({ limit }).output).toEqual({ limit: Number(limit) })
  })

  it.each(['0', '101', '999', '1000', '-1', '01', '1.0', '1e1', ' 1', '1 ', '', 'abc', '١', ['1', '2'], 5, null])(
    'rejects the limit %j',
    (limit) => {
      expect(parse({ limit }).success).toBe(false)
    },
  )
})

describe('the cursor of a page', () => {
  const id = '3f2b8c1e-5d4a-4b6f-9c7d-8e1a2b3c4d5e'

  it.each([
    '',
    'x',
    '!!!!',
    encode(null),
    encode(7),
    encode('a'),
    encode({}),
    encode([]),
    encode(['a']),
    encode(['a', 'b']),
    encode(['a', id, 'more']),
    encode([1, id]),
    encode(['a', 1]),
    encode([['a'], id]),
    encode(['a\0', id]),
    encode(['a\ud800', id]),
    encode(['a'.repeat(401), id]),
    encode({ 0: 'a', 1: id, length: 2 }),
    encode(['a', `${id} or 1=1`]),
    `${encode(['a', id])}${'A'.repeat(1000)}`,
    ['a', 'b'],
    7,
  ])('rejects the cursor %j', (cursor) => {
    const { success, issues = [] } = parse({ cursor })
    expect(success).toBe(false)
    if (typeof cursor === 'string' && cursor.length > 3) {
      for (const { message } of issues) expect(message).not.toContain(cursor)
    }
  })
})
