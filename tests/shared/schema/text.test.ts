import * as v from 'valibot'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isOneLine, isStorable, text } from '#shared/schema/text.ts'
import { createTestDatabase } from '#tests/support/database.ts'

describe('isStorable', () => {
  it('accepts well-formed text without NUL and rejects any other', () => {
    for (const valid of ['', 'a', '\u{1f600}', '\ufffd', '\u0001']) expect(isStorable(valid)).toBe(true)
    for (const invalid of ['\0', 'a\0b', '\ud800', '\udc00a', 'a\ud83d']) expect(isStorable(invalid)).toBe(false)
  })
})

describe('text', () => {
  const refusals = (value: unknown): number => v.safeParse(text({ max: 4, example: 'rush' }), value).issues?.length ?? 0

  it('trims text before it counts the characters', () => {
    expect(v.parse(text({ max: 4, example: 'rush' }), '  rush ')).toBe('rush')
  })

  it('rejects text that is not a string, blank, too long or not storable, with one message for each', () => {
    for (const invalid of [7, '  ', '12345', 'a\0']) expect(refusals(invalid)).toBe(1)
  })

  it('counts characters as JSON Schema and Postgres do, not UTF-16 units', () => {
    expect(refusals('\u{1f600}'.repeat(4))).toBe(0)
    expect(refusals('\u{1f600}'.repeat(5))).toBe(1)
  })

  it('rejects line breaks and invisible format characters, and accepts joiners between letters', () => {
    for (const character of '\n\r\t\u0085\u2028\u2029\u202e\u2066\u200b\u200e\u2060\u00ad\u{e0041}')
      expect(refusals(`a${character}b`), character.codePointAt(0)?.toString(16)).toBe(1)
    for (const valid of ['می\u200cخ', 'ශ්\u200dර', 'é日1', 'e\u0301a']) expect(refusals(valid), valid).toBe(0)
    for (const invalid of ['\u200dab', 'a\u200c', '1\u200db', 'a\u200d\u200db', '\u{1f469}\u200d\u{1f4bb}'])
      expect(refusals(invalid), JSON.stringify(invalid)).toBe(1)
  })

  it('refuses the same characters as the domain app.one_line of the database', async () => {
    const database = await createTestDatabase()
    onTestFinished(() => database.drop())
    const [row] = await database.admin<{ refused: number[] }[]>`
      select array_agg(code order by code) as refused from generate_series(1, 1114111) as code
       where code not between 55296 and 57343 and not pg_input_is_valid('a' || chr(code) || 'b', 'app.one_line')`
    const refused: number[] = []
    for (let code = 1; code <= 0x10_ffff; code += 1)
      if ((code < 0xd800 || code > 0xdfff) && !isOneLine(`a${String.fromCodePoint(code)}b`)) refused.push(code)
    expect(row?.refused).toEqual(refused)
  })
})
