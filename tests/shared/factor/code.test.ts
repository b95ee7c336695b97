import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import {
  factorCodeHashes,
  newRecoveryCodes,
  SentRecoveryCode,
  SentSetupCode,
  SentTotpCode,
  setupCode,
} from '#shared/factor/code.ts'

const peppers = {
  pepper: 'a pepper that only these tests use',
  pepperPrevious: 'the pepper before that one, for tests',
}

describe('a recovery code', () => {
  it('has 24 characters of Crockford base32 in six groups, and no other is the same', () => {
    const codes = Array.from({ length: 100 }, newRecoveryCodes).flat()
    for (const code of codes) expect(code).toMatch(/^([0-9A-HJKMNP-TV-Z]{4}-){5}[0-9A-HJKMNP-TV-Z]{4}$/)
    expect(new Set(codes).size).toBe(1000)
  })

  it('is read whatever blanks, hyphens, case and look-alikes somebody types', () => {
    const typed = (text: string) => v.parse(SentRecoveryCode, text)
    const spellings = [
      '0101-ABCD-EFGH-JKMN-PQRS-TVWX',
      ' oLoI abcd efgh jkmn pqrs tvwx',
      'OIoiABCD--EFGHJKMNPQRSTVWX\t',
    ]
    expect(spellings.map(typed)).toEqual(Array.from(spellings, () => '0101ABCDEFGHJKMNPQRSTVWX'))
    for (const bad of ['', '0101', `${spellings[0]}0`, 'U101-ABCD-EFGH-JKMN-PQRS-TVWX', ' '.repeat(101)])
      expect(v.safeParse(SentRecoveryCode, bad).success, bad).toBe(false)
  })

  it('is stored under another hash for each user and pepper, in any spelling', () => {
    const [user, code = ''] = [randomUUID(), ...newRecoveryCodes()]
    const [current, previous] = factorCodeHashes(peppers, user, code)
    expect(factorCodeHashes(peppers, user, code.toLowerCase().replaceAll('-', ' '))).toEqual([current, previous])
    expect(current).not.toEqual(previous)
    expect(factorCodeHashes(peppers, randomUUID(), code)[0]).not.toEqual(current)
    expect(factorCodeHashes({ pepper: peppers.pepperPrevious }, user, code)).toEqual([previous, null])
  })
})

describe('a setup code', () => {
  it('has eight characters that only the mail key and the nonce of its mail give', () => {
    const code = setupCode('a mail key', 'a nonce')
    expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/)
    expect(setupCode('a mail key', 'a nonce')).toBe(code)
    expect(new Set([code, setupCode('another key', 'a nonce'), setupCode('a mail key', 'another')]).size).toBe(3)
    expect(v.parse(SentSetupCode, code.toLowerCase())).toBe(code.replace('-', ''))
  })
})

describe('a code of an app', () => {
  it('is six digits, wherever somebody types blanks', () => {
    expect(v.parse(SentTotpCode, ' 123 456 ')).toBe('123456')
    for (const bad of ['12345', '1234567', '12345a', '１２３４５６'])
      expect(v.safeParse(SentTotpCode, bad).success, bad).toBe(false)
  })
})
