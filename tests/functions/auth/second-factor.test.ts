import { describe, expect, it } from 'vitest'
import { seedSecured } from '#infra/local/seed-secured.ts'
import { newRecoveryCodes } from '#shared/factor/code.ts'
import { keyIdOf } from '#shared/factor/factor-key.ts'
import { newTotpSecret } from '#shared/factor/totp.ts'
import { expectProblem } from '#tests/support/expect-answer.ts'
import {
  codeNow,
  finish,
  forgetStep,
  login,
  newFactorUser,
  newUser,
  openSignIn,
  wrongCode,
} from '#tests/support/factor.ts'
import { PASSWORD, PEPPER } from '#tests/support/service.ts'
import { FACTOR_KEY, PREVIOUS_FACTOR_KEY } from '#tests/support/settings.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()

const sessionsOf = async (userId: string) =>
  service.sql`select * from app.sessions where user_id = ${userId} and revoked_at is null order by created_at desc`

/** Fails when an answer is not the refusal of a proof at this field. */
function expectRejected(answer: Awaited<ReturnType<typeof finish>>, field: string): void {
  expectProblem(answer, 'factor-rejected')
  expect(answer.body.errors).toMatchObject([{ pointer: `#/${field}`, code: 'wrong-code' }])
}

describe('a sign-in of a user with an authenticator app', () => {
  it('with the password alone returns an open sign-in and nothing else', async () => {
    const user = await newFactorUser(service)
    const answer = await login(service, user.email)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      second_factor: {
        sign_in_token: expect.stringMatching(/^[\w-]{43}$/),
        expires_at: expect.any(String),
        methods: ['totp', 'recovery_code'],
      },
    })
    const left = Date.parse(answer.body.second_factor.expires_at) - Date.now()
    expect(left).toBeGreaterThan(500_000)
    expect(left).toBeLessThan(601_000)
  })

  it('with the password alone has no effect of a sign-in', async () => {
    const user = await newFactorUser(service)
    const state = async () => [
      await service.sql`select last_login_at from app.users where id = ${user.id}`,
      await service.sql`select count(*) from app.known_networks`,
      (await sessionsOf(user.id)).map(({ id }) => id),
    ]
    const before = await state()
    expect((await login(service, user.email, user.token)).body.second_factor).toBeDefined()
    expect(await state()).toEqual(before)
    expect((await service.request('GET /v1/auth/session', { token: user.token })).status).toBe(200)
  })

  it('is finished by a code of the app: a two-factor session, and the effects of a sign-in', async () => {
    const user = await newFactorUser(service)
    const token = await openSignIn(service, user.email)
    const answer = await finish(service, token, { code: codeNow(user.secret) }, user.token)
    expect(answer.status).toBe(200)
    expect(Object.keys(answer.body)).toEqual(['token', 'token_type', 'csrf_token', 'session', 'user'])
    expect(answer.body.token).not.toBe(token)
    expect(answer.body.session.second_factor_at).not.toBeNull()
    expect(answer.body.session.stepped_up_at).toBe(answer.body.session.second_factor_at)
    const own = await service.request('GET /v1/auth/session', { token: answer.body.token })
    expect(own.body.session).toEqual(answer.body.session)
    expect((await service.request('GET /v1/auth/session', { token: user.token })).status).toBe(401)
    const [row] = await service.sql`select last_login_at from app.users where id = ${user.id}`
    expect(row?.['last_login_at']).not.toBeNull()
    expectProblem(await finish(service, token, { code: codeNow(user.secret, 1) }), 'sign-in-expired')
  })

  it('is finished by each recovery code once, however it is typed', async () => {
    const user = await newFactorUser(service)
    const [first = '', second = ''] = user.recoveryCodes
    const used = await finish(service, await openSignIn(service, user.email), {
      recovery_code: ` ${first.toLowerCase().replaceAll('-', ' ')}`,
    })
    expect(used.status).toBe(200)
    expectRejected(
      await finish(service, await openSignIn(service, user.email), { recovery_code: first }),
      'recovery_code',
    )
    expect((await finish(service, await openSignIn(service, user.email), { recovery_code: second })).status).toBe(200)
    const { body } = await service.request('GET /v1/auth/factors', { token: used.body.token })
    expect(body.recovery_codes.left).toBe(8)
  })

  it('refuses a wrong code, one of another user, a used one and one of an earlier step alike', async () => {
    const [user, other] = [await newFactorUser(service), await newFactorUser(service)]
    const used = codeNow(user.secret)
    expect((await finish(service, await openSignIn(service, user.email), { code: used })).status).toBe(200)
    const texts = new Set<string>()
    for (const code of [wrongCode(user.secret), codeNow(other.secret), used, codeNow(user.secret, -1)]) {
      const refused = await finish(service, await openSignIn(service, user.email), { code })
      expectRejected(refused, 'code')
      texts.add(refused.text.replace(/urn:uuid:[^"]+/, ''))
    }
    expect(texts.size).toBe(1)
    const foreign = await finish(service, await openSignIn(service, user.email), {
      recovery_code: other.recoveryCodes[0],
    })
    expectRejected(foreign, 'recovery_code')
  })

  it('ends after five tries, of which the fifth may be right', async () => {
    const user = await newFactorUser(service)
    const wrong = { code: wrongCode(user.secret) }
    const [lucky, spent] = [await openSignIn(service, user.email), await openSignIn(service, user.email)]
    for (const token of [lucky, spent])
      for (let tries = 0; tries < 4; tries += 1) expectRejected(await finish(service, token, wrong), 'code')
    expectRejected(await finish(service, spent, wrong), 'code')
    expectProblem(await finish(service, spent, { code: codeNow(user.secret) }), 'sign-in-expired')
    expect((await finish(service, lucky, { code: codeNow(user.secret) })).status).toBe(200)
    await service.mail.deliver()
    const subjects = service.mail.to(user.email).map(({ subject }) => subject)
    expect(subjects.filter((subject) => subject === 'A stranger may know your password')).toHaveLength(1)
  })

  it.each([
    ['ten minutes', (id: string) => service.sql`update app.open_sign_ins set expires_at = now() where user_id = ${id}`],
    [
      'a change of the password',
      (id: string) => service.sql`update app.users set resets_valid_from = clock_timestamp() where id = ${id}`,
    ],
    ['the user is disabled', (id: string) => service.sql`update app.users set disabled_at = now() where id = ${id}`],
  ])('ends after %s', async (_when, happen) => {
    const user = await newFactorUser(service)
    const token = await openSignIn(service, user.email)
    await happen(user.id)
    expectProblem(await finish(service, token, { code: codeNow(user.secret) }), 'sign-in-expired')
    expectProblem(await finish(service, token, { recovery_code: user.recoveryCodes[0] }), 'sign-in-expired')
  })

  it('ends when ten newer ones of the user are open', async () => {
    const user = await newFactorUser(service)
    const tokens: string[] = []
    for (let at = 0; at < 11; at += 1) tokens.push(await openSignIn(service, user.email))
    const proof = { code: codeNow(user.secret) }
    expectProblem(await finish(service, tokens[0] ?? '', proof), 'sign-in-expired')
    expect((await finish(service, tokens[1] ?? '', proof)).status).toBe(200)
  })

  it('refuses a token that is unknown, malformed or of a session', async () => {
    const user = await newFactorUser(service)
    for (const token of [user.token, 'x'.repeat(43), '', 'x'.repeat(500)])
      expectProblem(await finish(service, token, { code: codeNow(user.secret) }), 'sign-in-expired')
  })

  it('takes exactly one proof', async () => {
    const user = await newFactorUser(service)
    const token = await openSignIn(service, user.email)
    const both = { code: codeNow(user.secret), recovery_code: user.recoveryCodes[0] }
    for (const proof of [{}, both]) expectProblem(await finish(service, token, proof), 'validation-failed')
    expect((await finish(service, token, { code: both.code })).status).toBe(200)
  })

  it('still owes the factor after a reset of the password', async () => {
    const user = await newFactorUser(service)
    await service.request('POST /v1/auth/password/forgot', { body: { email: user.email } })
    const token = await service.mail.tokenFor(user.email)
    const password = 'nine purple elephants dance'
    expect((await service.request('POST /v1/auth/password/reset', { body: { token, password } })).status).toBe(204)
    const answer = await service.request('POST /v1/auth/login', { body: { email: user.email, password } })
    expect(Object.keys(answer.body)).toEqual(['second_factor'])
  })

  it('refuses the app after 200 wrong codes, until a new password; recovery codes work', async () => {
    const user = await newFactorUser(service)
    await service.sql`update app.factors set wrong_codes = 200 where user_id = ${user.id}`
    const { body } = await login(service, user.email)
    expect(body.second_factor.methods).toEqual(['recovery_code'])
    const token = body.second_factor.sign_in_token
    expectRejected(await finish(service, token, { code: codeNow(user.secret) }), 'code')
    const signedIn = await finish(service, token, { recovery_code: user.recoveryCodes[0] })
    expect(signedIn.status).toBe(200)
    const changed = await service.request('POST /v1/auth/password/change', {
      token: signedIn.body.token,
      body: { current_password: PASSWORD, new_password: 'nine purple elephants dance' },
    })
    expect(changed.status).toBe(204)
    const [factor] = await service.sql`select wrong_codes from app.factors where user_id = ${user.id}`
    expect(factor).toEqual({ wrong_codes: 0 })
  })

  it('counts a wrong code for good, and a right one not', async () => {
    const user = await newFactorUser(service)
    const token = await openSignIn(service, user.email)
    await finish(service, token, { code: wrongCode(user.secret) })
    expect((await finish(service, token, { code: codeNow(user.secret) })).status).toBe(200)
    const [factor] = await service.sql`select wrong_codes from app.factors where user_id = ${user.id}`
    expect(factor).toEqual({ wrong_codes: 1 })
  })

  it('is a 503 when the secret of the app does not open, while recovery codes work', async () => {
    const user = await newFactorUser(service)
    await service.sql`update app.factors set sealed_secret = set_byte(sealed_secret, 60, get_byte(sealed_secret, 60) # 1) where user_id = ${user.id}`
    const token = await openSignIn(service, user.email)
    expect((await finish(service, token, { code: codeNow(user.secret) })).status).toBe(503)
    expect((await finish(service, token, { recovery_code: user.recoveryCodes[0] })).status).toBe(200)
  })

  it('seals the app with the current factor key when another one sealed it', async () => {
    const secured = {
      pepper: PEPPER,
      factorKey: PREVIOUS_FACTOR_KEY,
      totpSecret: newTotpSecret(),
      recoveryCodes: newRecoveryCodes(),
    }
    const { email } = await seedSecured(service.sql, secured, { memoryKib: 64, iterations: 1 })
    const keyId = async () => {
      const [factor] = await service.sql`
        select f.key_id from app.factors f join app.users u on u.id = f.user_id where u.email = ${email}`
      return factor?.['key_id']
    }
    expect(await keyId()).toBe(keyIdOf(PREVIOUS_FACTOR_KEY))
    for (const step of [0, 1]) {
      const proof = { code: codeNow(secured.totpSecret, step) }
      expect((await finish(service, await openSignIn(service, email), proof)).status).toBe(200)
      expect(await keyId()).toBe(keyIdOf(FACTOR_KEY))
    }
  })

  it('records what failed in the audit log of each tenant of the user', async () => {
    const user = await newFactorUser(service, ['acme-print', 'bolt-apparel'])
    await finish(service, await openSignIn(service, user.email), { code: wrongCode(user.secret) })
    await service.worker.database.sql`select app.audit_failed_sign_ins(1000)`
    const entries = await service.sql`
      select action from app.audit_log where target_id = ${user.id} and action like '%failed' order by action`
    expect(entries.map(({ action }) => action)).toEqual(['user.second_factor_failed', 'user.second_factor_failed'])
  })
})

describe('limits of second factors', () => {
  const limited = useService({
    env: { SECOND_FACTOR_LIMIT: '3', SECOND_FACTOR_DAY_LIMIT: '5', SECOND_FACTOR_IP_LIMIT: '4' },
  })

  it('refuse codes of one user in a network, and none of a user who has a recovery code', async () => {
    const user = await newFactorUser(limited)
    const token = await openSignIn(limited, user.email)
    const wrong = { code: wrongCode(user.secret) }
    for (let tries = 0; tries < 3; tries += 1) expectRejected(await finish(limited, token, wrong), 'code')
    expectProblem(await finish(limited, token, { code: codeNow(user.secret) }), 'rate-limited')
    expect((await finish(limited, token, { recovery_code: user.recoveryCodes[0] })).status).toBe(200)
  })

  it('count an open sign-in as a failure until it is finished', async () => {
    const user = await newFactorUser(limited)
    const token = await openSignIn(limited, user.email)
    const [open] = await limited.sql`select limit_key from app.open_sign_ins where user_id = ${user.id}`
    const counted = async () =>
      (await limited.sql`select from app.rate_limits where key = ${open?.['limit_key']}`).length
    expect(await counted()).toBe(1)
    await forgetStep(limited, user.id)
    expect((await finish(limited, token, { code: codeNow(user.secret) })).status).toBe(200)
    expect(await counted()).toBe(0)
  })
})

describe('a user without a factor', () => {
  it('signs in as before', async () => {
    const user = await newUser(service)
    const answer = await login(service, user.email)
    expect(Object.keys(answer.body)).toEqual(['token', 'token_type', 'csrf_token', 'session', 'user'])
    expect(answer.body.session.second_factor_at).toBeNull()
    expect(answer.body.session.stepped_up_at).not.toBeNull()
  })
})
