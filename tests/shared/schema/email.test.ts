import * as v from 'valibot'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Email, mailboxOf } from '#shared/schema/email.ts'
import { shownEmail } from '#shared/schema/shown-email.ts'
import { createTestDatabase } from '#tests/support/database.ts'

const LABEL = 'a'.repeat(63)
const VALID = [
  'ann@acme.example',
  'Ann.Archer+work@shop-1.co.uk',
  "o'hara_/?=x!#$%&*^`{|}~-@x.org",
  `${'a'.repeat(64)}@x.org`,
  'a@123.example',
  'a@xn--mnchen-3ya.de',
  'a@4u.x1',
  `a@${LABEL}.${LABEL}.${LABEL}.${'a'.repeat(60)}`,
]
const INVALID = [
  ['a,b@x.com', 'a;b@y.com', 'a<b@x.com', '"a"@x.com', 'postmaster:;@y.com', 'a b@x.com', 'a@b@x.com', '(a)@x.com'],
  ['=?utf-8?q?x?=@y.com', 'x=?utf-8?b?eA==?=@y.com'],
  ['a@a..b', 'a@localhost', 'a@.b.c', 'a@b.c.', 'a@-b.c', 'a@b-.c', 'a@[127.0.0.1]', 'a@b_c.d', `a@${LABEL}a.b`],
  ['.a@x.com', 'a.@x.com', 'a..b@x.com', '@x.com', 'a@', 'a', '', 'ann@acme.example\n', 'änn@acme.example'],
  ['a@1.2.3.4', 'a@x.123', 'a@shop.example.0', 'a@xn--mnchen-3ya.7', 'a@123.456'],
  [`${'a'.repeat(65)}@x.org`, `a@${LABEL}.${LABEL}.${LABEL}.${'a'.repeat(61)}`],
].flat()

describe('Email', () => {
  it('accepts dot-atoms at a domain of two labels, and rejects encoded words, as the database does', async () => {
    const database = await createTestDatabase()
    onTestFinished(() => database.drop())
    const stored = async (email: string) =>
      (await database.admin`select pg_input_is_valid(${email}, 'app.email_address') as valid`)[0]?.['valid']
    for (const email of VALID) expect([v.is(Email, email), await stored(email)], email).toEqual([true, true])
    for (const email of INVALID) expect([v.is(Email, email), await stored(email)], email).toEqual([false, false])
  })
})

describe('a domain in its own letters', () => {
  it.each([
    ['ann@münchen.de', 'ann@xn--mnchen-3ya.de'],
    ['Ann+a@MÜNCHEN.Example', 'Ann+a@xn--mnchen-3ya.example'],
    ['ann@faß.de', 'ann@xn--fa-hia.de'],
    ['ann@почта.рф', 'ann@xn--80a1acny.xn--p1ai'],
    ['ann@例え.テスト', 'ann@xn--r8jz45g.xn--zckzah'],
    ['ann@mu\u0308nchen.de', 'ann@xn--mnchen-3ya.de'],
  ])('is accepted, and stored as A-labels: %s', (typed, stored) => {
    expect(v.parse(Email, typed)).toBe(stored)
  })

  it('stays as it is in ASCII letters', () => {
    for (const email of ['Ann@ACME.Example', 'ann@XN--MNCHEN-3ya.de']) expect(v.parse(Email, email)).toBe(email)
  })

  it('is refused in any spelling that hides characters, and in the local part', () => {
    const hidden = [
      'ann@ａcme.example',
      'ann@ac\u00adme.example',
      'ann@acme。example',
      'ann@ac\u200bme.ü',
      'ann@ü\u200d.example',
      'änn@ü.example',
    ]
    for (const email of [
      ...hidden,
      'ann@ü',
      'ann@ü..example',
      'ann@ü .example',
      'ann@ü@b.example',
      `ann@${'ü'.repeat(64)}.example`,
    ])
      expect(v.is(Email, email), email).toBe(false)
  })

  it('is shown in its own letters, unless they mix scripts or look like Latin ones', () => {
    for (const email of [
      'ann@münchen.de',
      'ann@почта.рф',
      'ann@例え.テスト',
      'a@ελλάδα.ευ',
      'a@한국.kr',
      'Ann@acme.example',
    ])
      expect(shownEmail(v.parse(Email, email))).toBe(email)
    for (const email of ['ann@аррӏе.com', 'ann@pаypal.com', 'ann@асе.example', 'ann@goοgle.com'])
      expect(shownEmail(v.parse(Email, email)), email).toBe(v.parse(Email, email))
    for (const email of ['ann@xn--a.de', '', 'xn--']) expect(shownEmail(email)).toBe(email)
  })
})

describe('mailboxOf', () => {
  const mailboxes = (emails: readonly string[]) => new Set(emails.map(mailboxOf))

  it('is the same for every spelling that reaches one mailbox', () => {
    expect(mailboxes(['ann.archer@gmail.com', 'annarcher@GMAIL.com', 'a.n.n.a.r.c.h.e.r+x@googlemail.com']).size).toBe(
      1,
    )
    expect(
      mailboxes(['ann.archer@proton.me', 'ann-archer@protonmail.com', 'ann_archer+x@pm.me', 'AnnArcher@protonmail.ch'])
        .size,
    ).toBe(1)
    expect(
      mailboxes(['Ann.Archer+a@acme.example', 'ann.archer@acme.example', 'ann.archer+b.c@ACME.example']).size,
    ).toBe(1)
  })

  it('differs by dots and hyphens where the provider tells them apart', () => {
    const distinct = [
      'ann.a@acme.example',
      'anna@acme.example',
      'ann-a@gmail.com',
      'anna@gmail.com',
      'ann_a@gmail.com',
      'anna@proton.me',
    ]
    expect(mailboxes(distinct).size).toBe(distinct.length)
  })
})
