import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { shopName } from '#shared/identity/shop-name.ts'
import { faultOf } from '#shared/schema/fault.ts'
import { LegalName, PersonName } from '#shared/schema/name.ts'

const VALID = [
  ['Ann Archer', "Seán O'Brien-Smith", 'J.R.R. Tolkien', 'J.-P. Archer', 'Dr. Ann B. Archer, Ph.D.', 'Gustaf K:son'],
  ['李小龍', 'Nguyễn Thị Minh Khai', 'محمد', 'می\u200cخواهم', 'ශ්\u200dරී', 'Ann Archer (Sales) 3', 'X Æ A-12'],
  ['Suresh a/l Raman', 'Devi A/P Muthu', 'Ravi s/o Kumar', 'Anita d/o Ravi', 'Ann c/o Ben'],
  ['Md.Rahman Khan', 'MD.RAHMAN', 'Dr.Archer, Ann', 'St.John Smith', 'Gal·la Puig', 'J.Crew Print Group'],
  ['a'.repeat(60), 'Studio 54 since 1999'],
].flat()

/** Names that are refused, by the code that says why. */
const INVALID = {
  'at-sign': ['Ann ann@evil', 'ann＠evil', 'ann﹫evil', 'Ann@'],
  slash: [
    [
      'https://evil.test/login',
      'a/b',
      'a／b',
      'a\\b',
      'Ann/Ben',
      's/o Kumar',
      'Ravi s/o',
      'Ann so/on Ben',
      'Ann a/b/c Ben',
    ],
    ['evil⁄login', 'evil∕login', 'Ann //evil Ben', 'Ann a/ b'],
  ].flat(),
  'web-address': [
    [
      'evil.test',
      'Ann at www.evil.test',
      'EVIL.TEST.',
      'evil。test',
      'ｅｖｉｌ．ｔｅｓｔ',
      'evil｡test',
      'evil․test',
      'münchen.de',
    ],
    [
      'tel:123',
      'mailto:ann',
      '192.0.2.1',
      'xn--a.bc',
      'Amazon.com, Inc.',
      'Md.Kim',
      'go.Link Ann',
      'x.com',
      't.me',
      'ab.test',
    ],
    ['Md.Rahman.com', 'Md.Rahman-Khan', 'the.Rahman.Khan', 'M.Sc Ann', 'evil.Rahman'],
    // A mark or an invisible character around the dot.
    [
      'visit evil.͏test',
      'visit evil.\ufe0ftest',
      'visit evil.\u0307test',
      'visit evil\u0301.test',
      'ev\u034fil.te\u034fst',
    ],
    ['evil.\u3164test', 'md.\u034fli\u034fnk ann'],
  ].flat(),
  'long-number': [
    ['1234567', 'Ann 1234567', '+1 900 555 0100', '(900) 555-0100', '１２３４５６７', '٠١٢٣٤٥٦', '❶❷❸❹❺❻❼'],
    [
      'Call 900–555–0100 now',
      '+1 900‐555‐0100',
      '900‑555‑0100',
      '900,555,0100',
      '900·555·0100',
      '900•555•0100',
      '900_555_0100',
    ],
    ['9\u034f0\u034f0\u034f5\u034f5\u034f5\u034f0', '9️⃣0️⃣0️⃣5️⃣5️⃣5️⃣0️⃣', '900 . 555 , 0100', '1 2 3 4 5 6 7', '900~555~0100'],
  ].flat(),
  'no-letter': [
    '\u3164\u3164\u3164',
    '\u115f',
    '\u1160',
    '\uffa0',
    '\u2800',
    '...',
    '…',
    '12',
    '🚨',
    '\u0301\u0302',
    '.'.repeat(60),
  ],
  'not-one-line': [
    ['Ann\nArcher', 'Ann\u202eArcher', 'Ann\u200bArcher', 'Ann\u2028Archer', '\u200cAnn', 'Ann\u{e0041}', 'Ann\u0000'],
  ].flat(),
  empty: [' ', '\u3000'],
  'too-long': ['a'.repeat(61)],
} as const

const codeOf = (value: string): string | null => {
  const { issues } = v.safeParse(PersonName, value, { abortPipeEarly: true })
  return issues === undefined ? null : faultOf(issues[0]).code
}

/** A generator of the same numbers each time. */
function random(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
const RANGES = [
  ['\\p{Lu}', 0x41, 0x17f],
  ['\\p{L}', 0x370, 0x52f],
  ['\\p{Lo}', 0x5d0, 0x6ff],
  ['\\p{Lo}', 0x904, 0x939],
  ['\\p{Lo}', 0xe01, 0xe30],
  ['\\p{Lo}', 0x3041, 0x30ff],
  ['\\p{Lo}', 0x4e00, 0x9fff],
  ['\\p{Lo}', 0xac00, 0xd7a3],
] as const
const LETTERS = RANGES.map(([pattern, from, to]) => {
  const all: string[] = []
  for (let code = from; code <= to; code += 1) {
    const character = String.fromCodePoint(code)
    if (new RegExp(`^${pattern}$`, 'u').test(character) && character.normalize('NFKC') === character)
      all.push(character)
  }
  return all
})
const DASHES_AND_BLANKS = Array.from(
  '-‐‑‒–—―⁃−﹘﹣－ .,·•‧∙⋅・()_~:;|*#+\u00a0\u2007\u202f\u3000\u0301\u034f\u3164\ufe0f',
)
const DIGITS = Array.from('0123456789٠١٢٣٤٥٦٧٨٩०१२३४५६७८९０１２３４５６７８９')

describe('PersonName', () => {
  it('accepts the names of people', () => {
    for (const name of VALID) expect(codeOf(name), name).toBeNull()
  })

  it.each(Object.entries(INVALID))('rejects names, and says which character is wrong: %s', (code, names) => {
    for (const name of names) expect(codeOf(name), name).toBe(code)
  })

  it('accepts 3000 generated names of words, initials, particles and few digits, of any script', () => {
    const below = random(1)
    const pick = <T>(of: readonly T[]): T => of[below(of.length)] as T
    for (let round = 0; round < 3000; round += 1) {
      const letters = pick(LETTERS)
      const word = () => Array.from({ length: 3 + below(7) }, () => pick(letters)).join('')
      const middle = pick([
        ' ',
        '-',
        ' a/l ',
        ' s/o ',
        ', ',
        ` ${pick(letters)}. `,
        ' (',
        "'",
        '·',
        ` ${below(999_999)} `,
      ])
      const name = `${word()}${middle}${word()}`
      expect(codeOf(name), `${round} ${name}`).toBeNull()
    }
  })

  it('rejects 3000 generated telephone numbers with anything but letters between their digits', () => {
    const below = random(2)
    const pick = <T>(of: readonly T[]): T => of[below(of.length)] as T
    for (let round = 0; round < 3000; round += 1) {
      const gap = () => Array.from({ length: below(3) }, () => pick(DASHES_AND_BLANKS)).join('')
      const number = Array.from({ length: 7 + below(4) }, () => `${pick(DIGITS)}${gap()}`).join('')
      const name = `Ann ${number} now`
      expect(['long-number', 'web-address'], `${round} ${name}`).toContain(codeOf(name))
    }
  })

  it('rejects 3000 generated host names, with invisible characters and marks anywhere in them', () => {
    const below = random(3)
    const pick = <T>(of: readonly T[]): T => of[below(of.length)] as T
    const hidden = () => (below(3) === 0 ? pick(['\u034f', '\ufe0f', '\u0301', '\u3164', '\u115f', '\u20dd']) : '')
    for (let round = 0; round < 3000; round += 1) {
      const letters = pick(LETTERS)
      const label = (least: number) =>
        Array.from({ length: least + below(8) }, () => `${pick(letters)}${hidden()}`).join('')
      const host = `${label(4)}${pick(['.', '。', '．', '｡', '․'])}${hidden()}${label(2)}`
      expect(codeOf(`Ann ${host}`), `${round} ${host}`).toBe('web-address')
    }
  })
})

describe('LegalName', () => {
  it('accepts whatever is one visible line', () => {
    for (const name of [
      'Amazon.com, Inc.',
      'J.Crew Print Group',
      '1234567 Prints',
      'AT&T/Print @ Home',
      'a'.repeat(200),
    ])
      expect(v.is(LegalName, name), name).toBe(true)
  })

  it('rejects what nobody sees, is too long, or is no single line', () => {
    for (const name of ['', ' ', '\u3164\u3164', '\u2800', 'a\nb', 'a\u202eb', 'a\u200bb', 'a'.repeat(201)])
      expect(v.is(LegalName, name), name).toBe(false)
  })
})

describe('shopName', () => {
  it('shows a legal name that could be the name of a person, with the slug beside it', () => {
    for (const name of ['Acme Print LLC', 'J.Crew Print Group', 'Bolt Apparel', 'Druckerei Müller & Söhne'])
      expect(shopName({ slug: 'acme-print', legal_name: name })).toBe(`${name} (acme-print)`)
  })

  it('shows the slug alone for a legal name with a link, a telephone number, no letter or more than 60 characters', () => {
    const hidden = [
      'Amazon.com, Inc.',
      '1234567 Prints',
      'Call 900–555–0100 now',
      'visit evil.͏test',
      '24 / 7',
      '...',
      'acme-print',
    ]
    for (const name of [...hidden, 'a'.repeat(61)])
      expect(shopName({ slug: 'acme-print', legal_name: name }), name).toBe('acme-print')
  })
})
