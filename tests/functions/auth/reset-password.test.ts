import { beforeEach, describe, expect, it } from 'vitest'
import { newToken } from '#shared/secret/secret.ts'
import { expectContract, expectProblem, indistinguishable } from '#tests/support/expect-answer.ts'
import { createMember, mintSession } from '#tests/support/minted-session.ts'
import type { Answer } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const NEW_PASSWORD = 'a passphrase of the reset'

const service = useService({ env: { FORGOT_EMAIL_LIMIT: '1000000', FORGOT_IP_LIMIT: '1000000' } })
let people = 0
let email: string
let person: Awaited<ReturnType<typeof createMember>>

beforeEach(async () => {
  people += 1
  email = `person${people}@reset.test`
  person = await createMember(service.sql, { email, role: 'viewer', slug: 'acme-print' })
})

const reset = (token: string, password = NEW_PASSWORD): Promise<Answer> =>
  service.request('POST /v1/auth/password/reset', { body: { token, password } })
const signsIn = async (password = NEW_PASSWORD): Promise<boolean> =>
  (await service.request('POST /v1/auth/login', { body: { email, password } })).status === 200
async function resetToken(): Promise<string> {
  await service.request('POST /v1/auth/password/forgot', { body: { email } })
  return service.mail.tokenFor(email)
}
const userRow = async () => (await service.sql`select * from app.users where id = ${person.userId}`)[0]
const state = async (): Promise<unknown> => [
  await userRow(),
  await service.sql`select * from app.tokens where user_id = ${person.userId} order by id`,
  await service.sql`select id, revoked_at from app.sessions where user_id = ${person.userId} order by id`,
  await service.sql`select id from app.jobs order by id`,
]

describe('POST /v1/auth/password/inspect', () => {
  const inspect = (token: string) => service.request('POST /v1/auth/password/inspect', { body: { token } })

  it('names the account of an open reset each time, and consumes nothing', async () => {
    const token = await resetToken()
    const before = await state()
    for (let round = 0; round < 2; round += 1) {
      const answer = await inspect(token)
      expect([answer.status, answer.body]).toEqual([200, { email }])
      expectContract(answer, null)
    }
    expect(await state()).toEqual(before)
    expect((await reset(token)).status).toBe(204)
  })

  it('returns the same 400 for a token that is unknown, malformed, expired, voided, consumed or of a disabled user', async () => {
    const [voided, used] = [await resetToken(), await resetToken()]
    await reset(used)
    const expired = await resetToken()
    await service.sql`update app.tokens set expires_at = now() where user_id = ${person.userId} and consumed_at is null`
    const disabled = await resetToken()
    await service.sql`update app.users set disabled_at = now() where id = ${person.userId}`
    const tokens = [newToken(), 'malformed', `${disabled}x`, voided, used, expired, disabled, person.token]
    for (const token of tokens) expectProblem(await inspect(token), 'token-invalid')
  })
})

describe('POST /v1/auth/password/reset', () => {
  it('sets the password, ends all sessions, voids other tokens, verifies the address and mails the user', async () => {
    const pending = await mintSession(service.sql, { email })
    const other = await resetToken()
    const token = await resetToken()
    expect((await userRow())?.['email_verified_at']).toBeNull()
    const answer = await reset(token)
    expect(answer.status).toBe(204)
    expectContract(answer, null)
    for (const session of [person, pending]) {
      expect((await service.request('GET /v1/auth/session', { token: session.token })).status).toBe(401)
    }
    expect((await userRow())?.['email_verified_at']).toBeInstanceOf(Date)
    const [live] = await service.sql`
      select count(*)::int as live from app.sessions where user_id = ${person.userId} and revoked_at is null`
    expect(live?.['live']).toBe(0)
    expect(await signsIn()).toBe(true)
    const voided = await reset(other, 'another passphrase entirely')
    expect(voided.status).toBe(400)
    expect(await signsIn()).toBe(true)
    expect(service.invoked.at(-1)).toBe('deliver-mail')
    expect(await service.mail.deliver()).toBe(1)
    expect(service.mail.to(email)[0]?.subject).toBe('Your password was changed')
  })

  it('resets a password without touching sessions, passwords and tokens of other users', async () => {
    const first = { email, person, token: await resetToken() }
    people += 1
    email = `person${people}@reset.test`
    person = await createMember(service.sql, { email, role: 'viewer', slug: 'acme-print' })
    const before = await state()
    expect((await reset(first.token)).status).toBe(204)
    const [after] = [await state()]
    expect((after as unknown[]).slice(0, 3)).toEqual((before as unknown[]).slice(0, 3))
  })

  it('keeps the time of an earlier email verification when a password is reset', async () => {
    await service.sql`update app.users set email_verified_at = '2025-01-01T00:00:00Z' where id = ${person.userId}`
    await reset(await resetToken())
    expect((await userRow())?.['email_verified_at']).toEqual(new Date('2025-01-01T00:00:00Z'))
  })

  it('returns 204 and changes nothing when a password reset token is used again', async () => {
    const token = await resetToken()
    await reset(token)
    const session = await mintSession(service.sql, { email })
    const before = await state()
    for (const password of [NEW_PASSWORD, 'another passphrase entirely', 'weak']) {
      const again = await reset(token, password)
      expect(again.status).toBe(204)
      expectContract(again, null)
    }
    expect(await state()).toEqual(before)
    expect((await service.request('GET /v1/auth/session', { token: session.token })).status).toBe(200)
    expect(await signsIn('another passphrase entirely')).toBe(false)
  })

  it('rejects a weak password without using up the password reset token', async () => {
    const token = await resetToken()
    const before = await state()
    for (const password of ['short', 'passwordpassword', email, 'vq8-acme-print-7', 'x'.repeat(129)]) {
      const answer = await reset(token, password)
      expectProblem(answer, 'password-rejected', password)
      expect(answer.body.errors[0].pointer).toBe('#/password')
      expectContract(answer, null)
    }
    expect(await state()).toEqual(before)
    expect((await reset(token)).status).toBe(204)
  })

  it('returns the same 400 for an unknown, expired or malformed password reset token', async () => {
    const expired = await resetToken()
    await service.sql`update app.tokens set expires_at = now() where user_id = ${person.userId}`
    const live = await resetToken()
    const before = await state()
    const answers = new Set<string>()
    for (const token of [newToken(), expired, person.token, '', 'x', `${live}=`, live.slice(1), ` ${live}`]) {
      const answer = await reset(token)
      expectProblem(answer, 'token-invalid')
      expectContract(answer, null)
      answers.add(JSON.stringify(indistinguishable(answer)))
    }
    expect(answers.size).toBe(1)
    expect(await state()).toEqual(before)
    expect((await reset(live)).status).toBe(204)
  })

  it('rejects a password reset of a disabled user and sends no email that was still pending', async () => {
    const token = await resetToken()
    await service.request('POST /v1/auth/password/forgot', { body: { email } })
    await service.sql`update app.users set disabled_at = now() where id = ${person.userId}`
    expect(await service.mail.deliver()).toBe(0)
    const before = await state()
    expect((await reset(token)).status).toBe(400)
    expect(await state()).toEqual(before)
  })

  it('takes the password reset token only from the body and ignores the query', async () => {
    const token = await resetToken()
    const path = `/v1/auth/password/reset?token=${token}&password=${encodeURIComponent(NEW_PASSWORD)}`
    expect((await service.request(`GET ${path}`)).status).toBe(405)
    expect((await service.request(`POST ${path}`, { body: { password: NEW_PASSWORD } })).status).toBe(422)
    const [row] = await service.sql`
      select count(*)::int as open from app.tokens where user_id = ${person.userId} and consumed_at is null`
    expect(row?.['open']).toBe(1)
  })
})
