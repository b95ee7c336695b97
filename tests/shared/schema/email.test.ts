import * as v from 'valibot'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Email } from '#shared/schema/email.ts'
import { createTestDatabase } from '#tests/support/database.ts'

const LABEL = 'a'.repeat(63)
const VALID = [
  'ann@acme.example',
  'Ann.Archer+work@shop-1.co.uk',
  "o'hara_/?=x!#$%&*^`{|}~-@x.org",
  `${'a'.repeat(64)}@x.org`,
  `a@${LABEL}.${LABEL}.${LABEL}.${'a'.repeat(60)}`,
]
const INVALID = [
  ['a,b@x.com', 'a;b@y.com', 'a<b@x.com', '"a"@x.com', 'postmaster:;@y.com', 'a b@x.com', 'a@b@x.com', '(a)@x.com'],
  ['=?utf-8?q?x?=@y.com', 'x=?utf-8?b?eA==?=@y.com'],
  ['a@a..b', 'a@localhost', 'a@.b.c', 'a@b.c.', 'a@-b.c', 'a@b-.c', 'a@[127.0.0.1]', 'a@b_c.d', `a@${LABEL}a.b`],
  [
    '.a@x.com',
    'a.@x.com',
    'a..b@x.com',
    '@x.com',
    'a@',
    'a',
    '',
    'ann@acme.example\n',
    'änn@acme.example',
    'ann@äcme.de',
  ],
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
