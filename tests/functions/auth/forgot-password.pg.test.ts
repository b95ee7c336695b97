import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { indistinguishable } from '#tests/support/expect-answer.ts'
import { tokenIn } from '#tests/support/mail.ts'
import { createPerson } from '#tests/support/minted-session.ts'
import { type Answer, startService, type TestService } from '#tests/support/service.ts'

const WEB = 'https://app.shops.test/office'

let service: TestService
beforeAll(async () => {
  service = await startService({
    env: { FORGOT_EMAIL_LIMIT: '1000000', FORGOT_IP_LIMIT: '1000000', WEB_BASE_URL: `${WEB}/` },
  })
  await createPerson(sql(), { email: 'known@forgot.test' })
  await createPerson(sql(), { email: 'disabled@forgot.test' })
  await sql()`update app.users set disabled_at = now() where email = 'disabled@forgot.test'`
})
afterAll(() => service.close())

const sql = () => service.database.admin
const forgot = (email: unknown, { headers = {}, of = service } = {}): Promise<Answer> =>
  of.request('POST /v1/auth/password/forgot', { body: { email }, headers })

describe('POST /v1/auth/password/forgot', () => {
  it('answers one 204, the same bytes, for an address that is known, unknown, disabled or none', async () => {
    const expected = indistinguishable(await forgot('known@forgot.test'))
    expect(expected).toMatchObject({ status: 204, text: '' })
    for (const email of [
      'KNOWN@FORGOT.TEST',
      'unknown@forgot.test',
      'disabled@forgot.test',
      'no address',
      '',
      '\0',
      '\ud800',
      'a@b@c',
      `known@forgot.test\r\nBcc: x@evil.test`,
      'known@forgot.test,x@evil.test',
      'пользователь@почта.test',
      `${'a'.repeat(3000)}@forgot.test`,
    ]) {
      expect(indistinguishable(await forgot(email)), JSON.stringify(email).slice(0, 40)).toEqual(expected)
    }
  })

  it('answers 422, and sends nothing, where the address is no text', async () => {
    await service.mail.deliver()
    const before = service.mail.to('known@forgot.test').length
    for (const email of [
      ['known@forgot.test'],
      ['known@forgot.test', 'x@evil.test'],
      { 0: 'known@forgot.test' },
      null,
    ]) {
      expect((await forgot(email)).status).toBe(422)
    }
    expect(await service.mail.deliver()).toBe(0)
    expect(service.mail.to('known@forgot.test')).toHaveLength(before)
    expect(service.mail.to('x@evil.test')).toEqual([])
  })

  it('sends a letter to the address of the account alone, however the request spelt it', async () => {
    await service.mail.deliver()
    for (const email of ['unknown@forgot.test', 'disabled@forgot.test']) await forgot(email)
    expect(await service.mail.deliver()).toBe(0)
    await forgot('Known@Forgot.TEST')
    expect(await service.mail.deliver()).toBe(1)
    expect(service.mail.to('known@forgot.test')[0]?.to).toBe('known@forgot.test')
  })

  it('links to the configured place, whatever the request’s headers say of the host', async () => {
    const headers = {
      'x-forwarded-host': 'evil.test',
      'x-forwarded-proto': 'http',
      'x-host': 'evil.test',
      forwarded: 'host=evil.test',
      origin: 'https://evil.test',
      referer: 'https://evil.test/',
    }
    expect((await forgot('known@forgot.test', { headers })).status).toBe(204)
    await service.mail.deliver()
    const [letter] = service.mail.to('known@forgot.test')
    expect(letter?.text).toContain(`\n${WEB}/reset-password#token=${tokenIn(letter)}\n`)
    expect(letter?.html).toContain(`<a href="${WEB}/reset-password#token=${tokenIn(letter)}">`)
    expect(JSON.stringify(letter)).not.toContain('evil')
    expect(JSON.stringify(letter)).not.toContain('127.0.0.1')
  })

  it('sends each time a token of its own, for one hour', async () => {
    await forgot('known@forgot.test')
    await service.mail.deliver()
    await forgot('known@forgot.test')
    await service.mail.deliver()
    const [second, first] = service.mail.to('known@forgot.test')
    expect(tokenIn(second)).not.toBe(tokenIn(first))
    const [row] = await sql()`
      select expires_at - now() > interval '59 minutes' and expires_at - now() <= interval '1 hour' as hour
        from app.tokens where purpose = 'password_reset' order by created_at desc limit 1`
    expect(row?.['hour']).toBe(true)
  })

  it.each(['email', 'address'])('is limited by %s, in silence', async (by) => {
    const limited = await startService({
      env: by === 'email' ? { FORGOT_EMAIL_LIMIT: '3' } : { FORGOT_EMAIL_LIMIT: '1000', FORGOT_IP_LIMIT: '3' },
    })
    try {
      for (let index = 0; index < 5; index += 1) {
        await createPerson(limited.database.admin, { email: `person${index}@limits.test` })
      }
      const answers: object[] = []
      for (let index = 0; index < 5; index += 1) {
        const email =
          by === 'email' ? ['person0@limits.test', 'PERSON0@LIMITS.TEST'][index % 2] : `person${index}@limits.test`
        answers.push(indistinguishable(await forgot(email, { of: limited })))
      }
      for (const answer of answers) expect(answer).toEqual(answers[0])
      expect(answers[0]).toMatchObject({ status: 204, text: '' })
      expect(await limited.mail.deliver()).toBe(3)
    } finally {
      await limited.close()
    }
  })

  it('takes the same time for a known address as for any other', { timeout: 120_000 }, async () => {
    const causes = ['known@forgot.test', 'unknown@forgot.test', 'disabled@forgot.test', 'no address']
    const times = new Map<string, number[]>(causes.map((cause) => [cause, []]))
    for (let round = -10; round < 200; round += 1) {
      // Each is first in turn, so that neither a drift nor its place in the round falls on one of them.
      for (let place = 0; place < causes.length; place += 1) {
        const cause = causes[(place + round + 12) % causes.length] ?? ''
        const started = performance.now()
        await forgot(cause)
        // The first rounds warm up.
        if (round >= 0) times.get(cause)?.push(performance.now() - started)
      }
    }
    const median = (cause: string): number => times.get(cause)?.toSorted((a, b) => a - b)[100] ?? Number.NaN
    for (const cause of causes) {
      expect(Math.abs(median(cause) - median('known@forgot.test')), cause).toBeLessThan(3)
    }
  })
})
