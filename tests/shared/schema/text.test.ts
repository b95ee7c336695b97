import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { isStorable, text } from '#shared/schema/text.ts'

describe('isStorable', () => {
  it('accepts well-formed text without NUL and rejects any other', () => {
    for (const valid of ['', 'a', '\u{1f600}', '\ufffd', '\u0001']) expect(isStorable(valid)).toBe(true)
    for (const invalid of ['\0', 'a\0b', '\ud800', '\udc00a', 'a\ud83d']) expect(isStorable(invalid)).toBe(false)
  })
})

describe('text', () => {
  const messages = (value: unknown, oneLine = true): string[] =>
    (v.safeParse(text({ max: 4, example: 'rush', oneLine }), value).issues ?? []).map(({ message }) => message)

  it('trims text before it counts the characters', () => {
    expect(v.parse(text({ max: 4, example: 'rush' }), '  rush ')).toBe('rush')
  })

  it('rejects text that is not a string, blank, too long or not storable, with one message for each', () => {
    expect(messages(7)).toEqual(['must be a string'])
    expect(messages('  ')).toEqual(['must not be empty'])
    expect(messages('12345')).toEqual(['must have at most 4 characters'])
    expect(messages('a\0', false)).toEqual(['must be text'])
  })

  it('rejects a line break unless several lines are allowed', () => {
    expect(messages('a\nb')).toEqual(['must be one line of text'])
    expect(messages('a\nb', false)).toEqual([])
  })
})
