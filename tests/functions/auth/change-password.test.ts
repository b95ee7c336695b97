import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { hashPassword } from '#shared/password/argon2.ts'
import { expectContract, expectProblem } from '#tests/support/expect-answer.ts'
import { createUser, type MintedSession, mintSession } from '#tests/support/minted-session.ts'
import { type Answer, startService, type TestService } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const COST = { memoryKib: 64, iterations: 1 }
const OLD = 'the old passphrase'
const NEW = 'the new passphrase'

const service = useService()
let oldHash: string
let email: string
let session: MintedSession
let people = 0

beforeAll(async () => {
  oldHash = await hashPassword(OLD, COST)
})

async function newPerson(of: TestService): Promise<{ email: string; session: MintedSession }> {
  people += 1
  const person = `person${people}@change.test`
  await createUser(of.database.admin, { email: person, slugs: ['acme-print'] })
  await of.database.admin`
    update app.users set password_hash = ${oldHash}, full_name = 'Josephine Wagenknecht' where email = ${person}`
  return { email: person, session: await mintSession(of.database.admin, { email: person, slug: 'acme-print' }) }
}

beforeEach(async () => {
  ;({ email, session } = await newPerson(service))
})

const change = (newPassword: string, current = OLD, of = service, by = session): Promise<Answer> =>
  of.request('POST /v1/auth/password/change', {
    token: by.token,
    body: { current_password: current, new_password: newPassword },
  })

const signsIn = async (password: string, of = service, who = email): Promise<boolean> =>
  (await of.request('POST /v1/auth/login', { body: { email: who, password } })).status === 200

const isLive = async ({ token }: MintedSession): Promise<boolean> =>
  (await service.request('GET /v1/auth/session', { token })).status === 200

const rejected = (answer: Answer, cause: RegExp): void => {
  expectProblem(answer, 'password-rejected')
  expect(answer.body.errors).toHaveLength(1)
  expect(answer.body.errors[0].pointer).toBe('#/new_password')
  expect(answer.body.errors[0].detail).toMatch(cause)
}

describe('POST /v1/auth/password/change', () => {
  it('replaces the password: the new one signs in and the old one does not', async () => {
    const answer = await change(NEW)
    expect(answer.status).toBe(204)
    expectContract(answer, answer.headers.get('x-tenant-id'))
    expect(await signsIn(NEW)).toBe(true)
    expect(await signsIn(OLD)).toBe(false)
    const [row] = await service.sql`select password_hash from app.users where email = ${email}`
    expect(row?.['password_hash']).toMatch(/^\$argon2id\$v=19\$m=64,t=1,p=1\$/)
  })

  it('ends every other session of the user, but not the calling session or those of other users', async () => {
    const others = [
      await mintSession(service.sql, { email }),
      await mintSession(service.sql, { email, slug: 'acme-print' }),
    ]
    const colleague = await mintSession(service.sql, { email: 'owner@acme.test', slug: 'acme-print' })
    expect((await change(NEW)).status).toBe(204)
    for (const other of others) expect(await isLive(other)).toBe(false)
    expect(await isLive(session)).toBe(true)
    expect(await isLive(colleague)).toBe(true)
  })

  it('voids every reset link that was requested before, also one whose mail is not yet sent', async () => {
    const forgot = () => service.request('POST /v1/auth/password/forgot', { body: { email } })
    const reset = async (token: string) =>
      (
        await service.request('POST /v1/auth/password/reset', {
          body: { token, password: 'a passphrase of the reset' },
        })
      ).status
    await forgot()
    const token = await service.mail.tokenFor(email)
    await forgot()
    expect((await change(NEW)).status).toBe(204)
    await service.mail.deliver()
    expect(service.mail.to(email).map(({ subject }) => subject)).toEqual([
      'Your password was changed',
      'Set a new password',
    ])
    expect(await reset(token)).toBe(400)
    expect(await signsIn(NEW)).toBe(true)
    await forgot()
    expect(await reset(await service.mail.tokenFor(email))).toBe(204)
  })

  it('changes the password in a session without a tenant', async () => {
    const pending = await mintSession(service.sql, { email })
    expect((await change(NEW, OLD, service, pending)).status).toBe(204)
    expect(await isLive(pending)).toBe(true)
    expect(await isLive(session)).toBe(false)
    expect(await signsIn(NEW)).toBe(true)
  })

  it('rejects a wrong current password with 422, changes nothing and ends no session', async () => {
    const other = await mintSession(service.sql, { email })
    for (const wrong of ['not the old one', OLD.toUpperCase(), `${OLD} `, NEW]) {
      const answer = await change(NEW, wrong)
      expectProblem(answer, 'validation-failed')
      expect(answer.body.errors).toEqual([
        { pointer: '#/current_password', code: 'wrong-password', detail: 'is not the current password' },
      ])
    }
    expect(await signsIn(OLD)).toBe(true)
    expect(await signsIn(NEW)).toBe(false)
    expect(await isLive(other)).toBe(true)
  })

  it('rejects a password change of a user who has no password to confirm', async () => {
    await service.sql`update app.users set password_hash = null where email = ${email}`
    expect((await change(NEW)).status).toBe(422)
    const [row] = await service.sql`select password_hash from app.users where email = ${email}`
    expect(row?.['password_hash']).toBeNull()
  })
})

describe('the rules for a new password', () => {
  it('accepts only passwords of 15 to 128 code points after NFKC normalisation', async () => {
    for (const [password, cause] of [
      ['x'.repeat(14).replace(/^x{7}/, 'abcdefg'), /at least 15/],
      ['\u{1f600}'.repeat(129), /at most 128/],
      // NFKC expands this character to eighteen.
      ['\ufdfa'.repeat(8), /at most 128/],
    ] as const) {
      rejected(await change(password), cause)
    }
    expect((await change('x'.repeat(600))).status).toBe(422)
    expect(await signsIn(OLD)).toBe(true)
  })

  it.each([
    ['15 lower-case letters', 'zxqjvkwzxqjvkwq'],
    ['spaces and lower case', 'four plain words here'],
    ['128 code points of emoji', String.fromCodePoint(...Array.from({ length: 128 }, (_, n) => 0x1f300 + n * 5))],
    ['128 letters', 'korwendabulixpoz'.repeat(8)],
    ['accents and scripts without case', 'пароль-密码-كلمة-ñandú'],
    ['quotes, percent signs and backslashes', `'; drop -- "%s" \\x00 \${a}`],
    ['leading and trailing spaces', '  a passphrase in blanks  '],
  ])('accepts a password of %s, because there are no composition rules', async (_what, password) => {
    expect((await change(password)).status).toBe(204)
    expect(await signsIn(password)).toBe(true)
    expect(await signsIn(`${password.slice(0, -2)}xy`)).toBe(false)
  })

  it.each([
    'passwordpassword',
    'PasswordPassword',
    '123456789qwerty',
    '1QAZ2WSX3EDC4RFV',
    '12345678987654321',
    '１２３４５６７８９８７６５４３２１',
  ])('rejects the common password %s, ignoring case and width', async (password) => {
    rejected(await change(password), /common/)
  })

  it('rejects a new password that is easy to guess or has no visible character', async () => {
    for (const password of ['123456789012345', 'aaaaaaaaaaaaaaa']) rejected(await change(password), /easy to guess/)
    for (const blank of [' ', '\u200b']) rejected(await change(blank.repeat(15)), /visible/)
    expect(await signsIn(OLD)).toBe(true)
  })

  it('rejects a new password that is little more than the user’s email or name, or than any of their tenants', async () => {
    await service.sql`
      insert into app.tenants (slug, legal_name, status)
      values ('prints-and-shirts', 'Mugs And Caps Ltd', 'active') on conflict do nothing`
    await service.sql`
      insert into app.memberships (tenant_id, user_id, role_id, accepted_at)
      select t.id, u.id, 7, now() from app.tenants t, app.users u
       where t.slug = 'prints-and-shirts' and u.email = ${email}`
    for (const known of [
      email,
      email.toUpperCase(),
      'Josephine Wagenknecht',
      'josephine wagenknecht',
      'PRINTS-AND-SHIRTS',
      'Mugs And Caps Ltd',
      'ｐrints-and-shirts',
    ]) {
      rejected(await change(known), /besides/)
      rejected(await change(`${known}q7vkp2z`), /besides/)
    }
    expect((await change('prints-and-shirts-q7vkp2zm')).status).toBe(204)
  })

  it('accepts every form of a password that NFKC normalises to the same text', async () => {
    expect((await change('Ångström ﬁnds ①')).status).toBe(204)
    for (const same of ['Ångström finds 1', 'Ångström ﬁnds ①'.normalize('NFD'), 'Ångström finds 1']) {
      expect(await signsIn(same), same).toBe(true)
    }
    expect(await signsIn('Angstrom finds 1')).toBe(false)
    expect((await change(NEW, 'Ångström finds １')).status).toBe(204)
    expect(await signsIn(NEW)).toBe(true)
  })
})

describe('the limit on password changes', () => {
  it('limits guesses at the current password across all sessions of a user', async () => {
    const limited = await startService({ env: { LOGIN_EMAIL_LIMIT: '3' } })
    onTestFinished(() => limited.close())
    const { email: guessed, session: first } = await newPerson(limited)
    const second = await mintSession(limited.database.admin, { email: guessed })
    for (const by of [first, second, first]) {
      expect((await change(NEW, 'a guess', limited, by)).status).toBe(422)
    }
    for (const by of [first, second]) {
      const answer = await change(NEW, OLD, limited, by)
      expect(answer.status).toBe(429)
      expectContract(answer, answer.headers.get('x-tenant-id'))
      expect(answer.headers.get('ratelimit-policy')).toBe('"password-change";q=3;w=86400')
    }
    expect(await signsIn(OLD, limited, guessed)).toBe(true)
    const { session: other } = await newPerson(limited)
    expect((await change(NEW, OLD, limited, other)).status).toBe(204)
  })
})

describe('the check against breached passwords', () => {
  let breaches: Server
  let checked: TestService
  let asked: { url: string; headers: IncomingMessage['headers'] }[] = []
  let reply: (response: ServerResponse, suffix: string) => void = (response) => response.end('')
  const digest = createHash('sha1').update(NEW).digest('hex').toUpperCase()
  const suffix = digest.slice(5)

  beforeAll(async () => {
    breaches = createServer((request, response) => {
      asked.push({ url: request.url ?? '', headers: request.headers })
      reply(response, suffix)
    })
    await new Promise<void>((resolve) => breaches.listen(0, '127.0.0.1', resolve))
    const { port } = breaches.address() as AddressInfo
    checked = await startService({ env: { PWNED_PASSWORDS_URL: `http://127.0.0.1:${port}/` } })
  })
  beforeEach(async () => {
    asked = []
    ;({ email, session } = await newPerson(checked))
  })
  afterAll(async () => {
    breaches.closeAllConnections()
    breaches.close()
    await checked.close()
  })

  it('rejects a breached password and sends only five characters of its hash', async () => {
    reply = (response) => response.end(`${'0'.repeat(35)}:3\r\n${suffix}:42\r\n${'F'.repeat(35)}:1`)
    rejected(await change(NEW, OLD, checked), /breach/)
    expect(asked.map(({ url }) => url)).toEqual([`/range/${digest.slice(0, 5)}`])
    expect(JSON.stringify(asked)).not.toContain(suffix)
    expect(asked[0]?.headers['add-padding']).toBe('true')
    expect(await signsIn(OLD, checked)).toBe(true)
  })

  it.each<[string, (response: ServerResponse) => void]>([
    ['is not among the breached ones', (response) => response.end(`${'0'.repeat(35)}:3`)],
    ['cannot be checked because the service fails', (response) => response.writeHead(500).end(`${suffix}:42`)],
    ['cannot be checked because the response does not end', (response) => void response.writeHead(200).write('0')],
  ])('accepts a new password that %s', async (_what, answer) => {
    reply = answer
    expect((await change(NEW, OLD, checked)).status).toBe(204)
    expect(asked).toHaveLength(1)
    expect(await signsIn(NEW, checked)).toBe(true)
  })

  it('does not check a password against breaches when it is rejected for another reason', async () => {
    reply = (response) => response.end('')
    rejected(await change('passwordpassword', OLD, checked), /common/)
    expect((await change(NEW, 'a guess', checked)).status).toBe(422)
    expect(asked).toEqual([])
  })
})
