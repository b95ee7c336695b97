import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { commonPasswords } from '#shared/password/common-passwords.ts'
import { normalize, SentPassword, weakness } from '#shared/password/password.ts'

const judge = (password: string, known: readonly (string | null)[] = [], common: readonly string[] = []) =>
  weakness(normalize(password), { minLength: 15, known, isCommon: (lowerCase) => common.includes(lowerCase) })

describe('SentPassword', () => {
  const issue = (value: unknown): string | undefined => v.safeParse(SentPassword, value).issues?.[0].message

  it('accepts non-empty text of at most 512 UTF-16 code units', () => {
    expect(issue('a')).toBeUndefined()
    expect(issue('\u{1f600}'.repeat(128))).toBeUndefined()
    expect(issue('x'.repeat(512))).toBeUndefined()
    expect(issue('x'.repeat(513))).toContain('at most 128')
    expect(issue('')).toContain('empty')
    for (const value of [null, undefined, 7, true, [], {}, ['a']]) expect(issue(value)).toBeDefined()
  })

  it('rejects text with half of a surrogate pair', () => {
    for (const value of ['\ud800', 'abc\udfff', '\udc00\ud800']) expect(issue(value)).toContain('Unicode')
  })

  it('never repeats a rejected password in its message', () => {
    for (const value of ['x'.repeat(600), 'canary\ud800']) expect(issue(value)).not.toContain(value.slice(0, 6))
  })
})

describe('weakness', () => {
  it('counts the code points of a password', () => {
    expect(judge('\u{1f600}'.repeat(14))).toContain('at least 15')
    expect(judge('\u{1f600}'.repeat(15))).toBeNull()
    expect(judge('\u{1f600}'.repeat(128))).toBeNull()
    expect(judge('\u{1f600}'.repeat(129))).toContain('at most 128')
  })

  it('counts the code points of a password after normalisation', () => {
    expect(judge('e\u0301'.repeat(14))).toContain('at least 15')
    expect(judge('\ufdfa'.repeat(7))).toBeNull()
    expect(judge('\ufdfa'.repeat(8))).toContain('at most 128')
  })

  it('accepts a password of any characters', () => {
    for (const password of ['aaaaaaaaaaaaaaaz', ' '.repeat(15), '000000000000000', 'пароль пароль пароль']) {
      expect(judge(password)).toBeNull()
    }
  })

  it('rejects the user’s own email and name, ignoring case and width', () => {
    const known = ['Josephine@Shop.Test', null, 'Acme Print And Shirts']
    for (const password of [
      'josephine@shop.test',
      'JOSEPHINE@SHOP.TEST',
      'ｊosephine@shop.test',
      'acme print and shirts',
    ]) {
      expect(judge(password, known)).toContain('must not be')
    }
    expect(judge('josephine@shop.tests', known)).toBeNull()
  })

  it('rejects common passwords, ignoring case', () => {
    expect(judge('PasswordPassword', [], ['passwordpassword'])).toContain('common')
    expect(judge('PasswordPassword', [], [])).toBeNull()
  })
})

describe('commonPasswords', () => {
  it('loads the lower-case list of common passwords once', async () => {
    const list = await commonPasswords()
    expect(list.size).toBeGreaterThan(40_000)
    expect(list).toContain('passwordpassword')
    expect([...list].filter((password) => password !== normalize(password).toLowerCase())).toEqual([])
    expect(await commonPasswords()).toBe(list)
  })
})
