import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { PersonName } from '#shared/schema/name.ts'

const VALID = [
  ['Ann Archer', "Seán O'Brien-Smith", 'J.R.R. Tolkien', 'J.-P. Archer', 'Dr. Ann B. Archer, Ph.D.', 'Gustaf K:son'],
  ['李小龍', 'Nguyễn Thị Minh Khai', 'محمد', 'می\u200cخواهم', 'ශ්\u200dරී', 'Ann Archer (Sales) 3', 'X Æ A-12'],
  ['a'.repeat(60)],
].flat()
const INVALID = [
  [
    'https://evil.test/login',
    'evil.test',
    'Ann at www.evil.test',
    'EVIL.TEST.',
    'evil。test',
    'ｅｖｉｌ．ｔｅｓｔ',
    'münchen.de',
  ],
  ['Ann ann@evil', 'ann＠evil', 'a/b', 'a／b', 'a\\b', 'tel:123', 'mailto:ann', '192.0.2.1', 'xn--a.bc'],
  ['1234567', 'Ann 1234567', '+1 900 555 0100', '(900) 555-0100', '１２３４５６７', '٠١٢٣٤٥٦'],
  [
    'Ann\nArcher',
    'Ann\u202eArcher',
    'Ann\u200bArcher',
    'Ann\u2028Archer',
    '\u200cAnn',
    'Ann\u{e0041}',
    ' ',
    'a'.repeat(61),
  ],
].flat()

describe('PersonName', () => {
  it('accepts the names of people', () => {
    for (const name of VALID) expect(v.is(PersonName, name), name).toBe(true)
  })

  it('rejects links, addresses, telephone numbers, invisible characters and more than 60 characters', () => {
    for (const name of INVALID) expect(v.is(PersonName, name), name).toBe(false)
  })
})
