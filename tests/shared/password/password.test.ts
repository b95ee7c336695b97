import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { detailOf } from '#shared/schema/field-error.ts'
import { passwordGuesses } from '#shared/password/password-guesses.ts'
import { othersBesides } from '#shared/password/known-texts.ts'
import { normalize, SentPassword, weakness } from '#shared/password/password.ts'
import { faultOf } from '#shared/schema/fault.ts'

const guesses = await passwordGuesses()
/** Returns why a password is rejected, as a sentence, or null. */
const judge = (password: string, known: readonly (string | null)[] = []): string | null => {
  const weak = weakness(normalize(password), { minLength: 15, known, guesses })
  return weak === null ? null : detailOf(weak)
}

const emoji = (count: number): string =>
  String.fromCodePoint(...Array.from({ length: count }, (_, n) => 0x1f600 + n * 7))

describe('SentPassword', () => {
  const issue = (value: unknown): string | undefined =>
    v.safeParse(SentPassword, value).issues?.map((each) => detailOf(faultOf(each)))[0]

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
    expect(judge(emoji(14))).toContain('at least 15')
    expect(judge(emoji(15))).toBeNull()
    expect(judge(emoji(128))).toBeNull()
    expect(judge(emoji(129))).toContain('at most 128')
  })

  it('counts the code points of a password after normalisation', () => {
    expect(judge('e\u0301'.repeat(14))).toContain('at least 15')
    expect(judge('\ufdfa'.repeat(7))).toBeNull()
    expect(judge('\ufdfa'.repeat(8))).toContain('at most 128')
  })

  it('accepts a password of any characters', () => {
    for (const password of [
      'korwendabulixpo',
      '602914775310846',
      'пароль-密码-كلمة-ñandú',
      '\u200dxq7 \u2066 vz 81 kp',
    ]) {
      expect(judge(password), password).toBeNull()
    }
  })

  it('rejects a password without a visible character', () => {
    for (const blank of [
      ' ',
      '\u00a0',
      '\u200b',
      '\u3164',
      '\u2800',
      '\u0007',
      '\ue000',
      '\u{e0041}',
      '\u200b \u00ad\u2028',
    ]) {
      expect(judge(blank.repeat(15)), escape(blank)).toBe('must have a visible character')
    }
  })

  it('rejects a known text with fewer than 8 other characters, ignoring case and width', () => {
    const known = ['Josephine@Shop.Test', null, ' Straße und Söhne ', 'ΟΔΟΣ', '', 'acme-print']
    for (const password of [
      'josephine@shop.test',
      'JOSEPHINE@SHOP.TEST',
      'ｊosephine@shop.test',
      '4567josephine@shop.test123',
      'STRASSE UND SÖHNE',
      'acme-printx8k2q',
      'vq8-acme-print-7',
    ]) {
      expect(judge(password, known), password).toContain('8 characters besides')
    }
    for (const password of [
      'josephine@shop.test-q7vkp2zx',
      'josephine@shop-kwqv',
      'οδοςxq7vkp2z4wm',
      'vq81-acme-print-7kxw',
    ]) {
      expect(judge(password, known), password).toBeNull()
    }
  })

  it.each([
    [
      'without its blanks, hyphens and dots',
      ['AcmePrintLLC12345', 'a.c.m.e_p-r-i-n-t!!!1234', 'designeracmetest77', 'A C M E P R I N T 12'],
    ],
    [
      'repeated',
      [
        'acmeprintacmeprint',
        'acme-print.ACME_PRINT.acmeprint',
        'designer designer designer',
        'AnnArcher/ann-archer/12',
      ],
    ],
    ['reversed', ['tset.emca@rengised', 'tnirpemca7654321', 'rehcrA nnA rehcrA nnA', 'CLLtnirPemcA!!!!!!!']],
    [
      'both ways, and beside another known text',
      ['acmeprinttnirpemca', 'designer-acme-print-ann-archer', 'acmeprint;designer;7;7'],
    ],
    [
      'by the local part of the address alone, also without its tag',
      ['designer!designer', 'd.e.s.i.g.n.e.r.1234567', 'rengised7654321'],
    ],
    [
      'in another width, case or accent',
      ['ＡＣＭＥＰＲＩＮＴ！１２３４５６', 'josegarciajosegarcia', 'JÓSÉ-GÁRCÍA-1234567', 'muller.soehne.acmeprint'],
    ],
  ])('rejects a known text %s', (_how, passwords) => {
    const known = [
      'designer+shop@acme.test',
      'Ann Archer',
      'Acme Print LLC',
      'acme-print',
      'José García',
      'Müller',
      'Soehne',
      null,
    ]
    for (const password of passwords) expect(judge(password, known), password).toContain('8 characters besides')
  })

  it('accepts a password with 8 letters or digits besides every known text, or with none', () => {
    const known = ['al@x.test', 'Ed', 'Acme Print LLC', 'acme-print', 'designer@acme.test', '!!!', null]
    for (const password of [
      'seven green printing presses',
      'metal signal capital royal',
      'edvard needed a red bed then',
      'acmeprint-kvw8-zq7x',
      'designer korwend bulixpo',
      'vqz-acme-kx81-print-w7',
      '#%&/()=?§+*~<>|;:_,.',
    ])
      expect(judge(password, known), password).toBeNull()
  })

  it('compares a password of 128 characters with the names of 500 shops within 200 ms', () => {
    const shops = Array.from({ length: 500 }, (_, at) => [
      `${'Дрюкерай ﷺ Ünïcödé '.repeat(10)}${at}`,
      `shop-${at}-${'a'.repeat(40)}`,
    ])
    const passwords = ['a'.repeat(128), `${'shop-1-'.repeat(18)}xx`, 'ﬃ'.repeat(64), '한글'.repeat(64)]
    for (const password of passwords) {
      const least = Math.min(
        ...[1, 2, 3].map(() => {
          const { user } = process.cpuUsage()
          othersBesides(normalize(password), shops.flat())
          return (process.cpuUsage().user - user) / 1000
        }),
      )
      expect(least, password).toBeLessThan(200)
    }
  })

  it.each([
    [
      'a word repeated beyond 64 characters',
      ['butterfly'.repeat(10), 'sunshine1987'.repeat(6), `${'butterfly'.repeat(8)}1`],
    ],
    ['a repeat', ['aaaaaaaaaaaaaaa', 'aaaaaaaaaaaaaaaz', 'abcabcabcabcabcabc', '😀🎨'.repeat(64), 'ab'.repeat(64)]],
    ['a sequence', ['123456789012345', 'abcdefghijklmnopqrst', '987654321987654']],
    ['a keyboard walk', ['qwertyuiopasdfg', 'qwertzuiopasdfghjkl', 'azertyuiopqsdfghjklm', '1234567890qwertyuiop']],
    ['a common word with a few characters', ['password1234567', 'P@ssw0rdP@ssw0rd', 'iloveyou20012002']],
  ])('rejects %s as easy to guess', (_what, passwords) => {
    for (const password of passwords) expect(judge(password), password).toMatch(/easy to guess|common/)
  })

  it('rejects common passwords, ignoring case', () => {
    expect(judge('PasswordPassword')).toBe('is too common')
  })

  it('never repeats a rejected password', () => {
    for (const password of ['canary', 'canarycanarycanary', 'canary@shop.test', 'canary'.repeat(30)]) {
      expect(judge(password, ['canary@shop.test'])).not.toContain('canary')
    }
  })
})

describe('passwordGuesses', () => {
  it('loads the word lists once', async () => {
    expect(await passwordGuesses()).toBe(guesses)
  })

  it('estimates a long password by its part of 64 characters that is hardest to guess', () => {
    const hard = 'korwendabulixpo-tavi'
    const easy = 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ!?'
    expect(guesses.count(easy + hard)).toBe(guesses.count(hard))
    expect(guesses.count(`${hard}${easy}`.slice(0, 67))).toBe(guesses.count(`${hard}${easy}`.slice(0, 64)))
    expect(guesses.count('a'.repeat(128))).toBe(guesses.count('a'.repeat(8)))
  })

  it('lists common passwords in the form that they are compared in', () => {
    for (const password of ['passwordpassword', '123456789qwerty']) expect(guesses.isCommon(password)).toBe(true)
    expect(guesses.isCommon('korwendabulixpo')).toBe(false)
  })
})
