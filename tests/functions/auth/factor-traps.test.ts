import { describe, expect, it } from 'vitest'
import { lookAtSignIn } from '#functions/api/auth/open-sign-in-queries.ts'
import { codeLimits, recoveryLimit } from '#functions/api/auth/proven-code.ts'
import { tokenHashes } from '#shared/secret/secret.ts'
import { tokenEncodings } from '#tests/support/encodings.ts'
import { expectProblem } from '#tests/support/expect-answer.ts'
import {
  codeNow,
  finish,
  forgetStep,
  login,
  mailedSetupCode,
  newDraft,
  newFactorUser,
  newUser,
  openSignIn,
  stepUp,
  wrongCode,
} from '#tests/support/factor.ts'
import { codeEncodings, found, secretEncodings } from '#tests/support/factor-encodings.ts'
import { newPasskeyUser, signInBy, signInOptions } from '#tests/support/passkey.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()
type PasskeyUser = Awaited<ReturnType<typeof newPasskeyUser>>

/** Returns every row of every table, as text. */
async function dump(): Promise<string> {
  const tables = await service.sql<{ name: string }[]>`
    select oid::regclass::text as name from pg_class
     where relnamespace = 'app'::regnamespace and relkind in ('r', 'p') order by 1`
  const rows = await Promise.all(
    tables.map(({ name }) => service.sql.unsafe(`select t::text, to_jsonb(t)::text from ${name} t`)),
  )
  return JSON.stringify(rows)
}

it('keeps no secret of a second factor in clear: in no table, job, event, audit entry, log line or other answer', async () => {
  const secrets: string[] = []
  const answers: string[] = []
  const lines = await service.logged(async () => {
    const user = await newUser(service)
    const { secret, recovery_codes: codes } = (await newDraft(service, user.token)).body
    const setup = await mailedSetupCode(service, user)
    const add = (code: string) =>
      service.request('POST /v1/auth/factors/totp', { token: user.token, body: { code, setup_code: setup } })
    answers.push((await add(wrongCode(secret))).text)
    const added = await add(codeNow(secret))
    const { body } = added
    await forgetStep(service, user.id)
    const [used, open] = [await openSignIn(service, user.email), await openSignIn(service, user.email)]
    answers.push((await finish(service, used, { code: wrongCode(secret) })).text)
    answers.push((await finish(service, used, { recovery_code: codes[0].replaceAll(/\w/g, '0') })).text)
    const signedIn = await finish(service, used, { code: codeNow(secret) })
    const stepped = await stepUp(service, signedIn.body.token, { recovery_code: codes[0] })
    answers.push((await stepUp(service, stepped.body.token, { recovery_code: codes[0] })).text)
    const draft = await newDraft(service, stepped.body.token, { renew_codes: true })
    answers.push((await service.request('GET /v1/auth/factors', { token: stepped.body.token })).text)
    await service.mail.deliver()
    const all = [...codes, ...draft.body.recovery_codes, setup].flatMap(codeEncodings)
    const shown = [secret, draft.body.secret].flatMap(secretEncodings)
    const tokens = [used, open, body.token, stepped.body.token].flatMap((token) => Object.values(tokenEncodings(token)))
    secrets.push(...all, ...shown, ...tokens)
  })
  expect(secrets.length).toBeGreaterThan(500)
  expect(found(secrets, await dump())).toEqual([])
  expect(found(secrets, lines)).toEqual([])
  expect(found(secrets, answers.join('\n'))).toEqual([])
  // It would see one.
  const [planted = ''] = secrets
  await service.sql`update app.users set full_name = ${planted} where email = 'viewer@bolt.test'`
  expect(found(secrets, await dump())).not.toEqual([])
})

it('an instance that dies between the look at an open sign-in and its end costs one try, and makes no session', async () => {
  const user = await newFactorUser(service)
  const token = await openSignIn(service, user.email)
  const state = async () => {
    const [row] = await service.sql`
      select (select tries from app.open_sign_ins where user_id = ${user.id}) as tries,
             (select wrong_codes from app.factors where user_id = ${user.id}) as wrong,
             (select count(*)::int from app.sessions where user_id = ${user.id}) as sessions`
    return row
  }
  const before = await state()
  const runtime = service.authRuntime
  const asked = { client: { ip: '127.0.0.1', userAgent: null, requestId: null }, runtime }
  const looking = { codes: codeLimits(asked), networkLimit: recoveryLimit(asked), credentialId: null }
  for (const method of ['totp', 'recovery_code', 'totp', 'totp'] as const)
    expect(
      await lookAtSignIn(runtime.database.call, tokenHashes(runtime, token), { method, ...looking }),
    ).not.toBeNull()
  expect(await state()).toEqual({ tries: 4, wrong: Number(before?.['wrong']) + 3, sessions: before?.['sessions'] })
  const finished = await finish(service, token, { code: codeNow(user.secret) })
  expect([finished.status, finished.body.session.second_factor_at]).toEqual([200, expect.any(String)])
  expect(await state()).toEqual({
    tries: null,
    wrong: Number(before?.['wrong']) + 3,
    sessions: Number(before?.['sessions']) + 1,
  })
})

it('a user keeps the app and the codes wherever they give up the set-up of another factor', async () => {
  const user = await newFactorUser(service)
  const { token } = user
  const steps: Readonly<Record<string, () => PromiseLike<unknown>>> = {
    'a draft': () => newDraft(service, token),
    'the draft again': () => service.request('GET /v1/auth/factors/draft', { token }),
    'a wrong code of the new app': () =>
      service.request('POST /v1/auth/factors/totp', { token, body: { code: wrongCode(user.secret) } }),
    'options of a passkey': () => service.request('POST /v1/auth/factors/passkey-options', { token }),
    'new recovery codes that nobody saved': () => newDraft(service, token, { renew_codes: true }),
    'the end of the draft': () =>
      service.sql`update app.factor_drafts set expires_at = now() where user_id = ${user.id}`,
  }
  for (const [step, take] of Object.entries(steps)) {
    await take()
    await forgetStep(service, user.id)
    const answer = await finish(service, await openSignIn(service, user.email), { code: codeNow(user.secret) })
    expect(answer.status, step).toBe(200)
  }
  const { body } = await service.request('GET /v1/auth/factors', { token })
  expect(body.recovery_codes.left).toBe(10)
  const byCode = { recovery_code: user.recoveryCodes[0] }
  expect((await finish(service, await openSignIn(service, user.email), byCode)).status).toBe(200)
})

describe('a thief with the password who uses up every limit', () => {
  const limited = useService({
    env: {
      SECOND_FACTOR_LIMIT: '8',
      SECOND_FACTOR_DAY_LIMIT: '5',
      LOGIN_EMAIL_LIMIT: '1000',
      LOGIN_ACCOUNT_LIMIT: '1000',
    },
  })

  /** Sends wrong codes until one is refused before it is looked at. Returns how many were looked at. */
  async function useUp(user: { email: string; secret: string }): Promise<number> {
    for (let looks = 0; looks < 20; looks += 1) {
      const answer = await finish(limited, await openSignIn(limited, user.email), { code: wrongCode(user.secret) })
      if (answer.status === 429) return looks
      expectProblem(answer, 'factor-rejected')
    }
    throw new Error('no limit refused a code')
  }

  it('has five codes a day in networks that the user is not known from, and locks nobody out', async () => {
    const user = await newFactorUser(limited)
    expect(await useUp(user)).toBe(5)
    // A recovery code works, and makes the network known. In a known network the day has no limit.
    const [code] = user.recoveryCodes
    const byRecovery = await finish(limited, await openSignIn(limited, user.email), { recovery_code: code })
    expect(byRecovery.status).toBe(200)
    const byApp = await finish(limited, await openSignIn(limited, user.email), { code: codeNow(user.secret) })
    expect(byApp.status).toBe(200)
    // Eight codes of a known network are counted by the limit of the network alone.
    expect(await useUp(user)).toBe(8)
  })

  it('is shut out by a new password, which gives the app back', async () => {
    const user = await newFactorUser(limited)
    await useUp(user)
    await limited.sql`update app.factors set wrong_codes = 200 where user_id = ${user.id}`
    await limited.request('POST /v1/auth/password/forgot', { body: { email: user.email } })
    const password = 'nine purple elephants dance'
    const token = await limited.mail.tokenFor(user.email)
    expect((await limited.request('POST /v1/auth/password/reset', { body: { token, password } })).status).toBe(204)
    expect((await login(limited, user.email)).status).toBe(401)
    const { body } = await limited.request('POST /v1/auth/login', { body: { email: user.email, password } })
    expect(body.second_factor.methods).toEqual(['totp', 'recovery_code'])
    const finished = await finish(limited, body.second_factor.sign_in_token, { code: codeNow(user.secret) })
    expect(finished.status).toBe(200)
  })

  const strict = useService({ env: { LOGIN_EMAIL_LIMIT: '3' } })
  const strictest = useService({ env: { LOGIN_EMAIL_LIMIT: '3', SECOND_FACTOR_LIMIT: '3' } })

  it.each<[string, (user: PasskeyUser, open: string) => Promise<{ status: number }>]>([
    ['a passkey alone', (user) => signInBy(strictest, user.authenticator)],
    [
      'a passkey at the open sign-in',
      async (user, open) =>
        finish(strictest, open, { credential: user.authenticator.get(await signInOptions(strictest, open)) }),
    ],
    [
      'a recovery code at the open sign-in',
      (user, open) => finish(strictest, open, { recovery_code: user.recoveryCodes[0] }),
    ],
  ])('leaves the owner %s while password and app are refused', async (_way, signIn) => {
    const user = await newPasskeyUser(strictest)
    const open = await openSignIn(strictest, user.email)
    for (let tries = 0; tries < 3; tries += 1)
      expectProblem(await finish(strictest, open, { code: wrongCode(user.secret) }), 'factor-rejected')
    const wrong = { email: user.email, password: 'nobody has this password' }
    for (let tries = 0; tries < 3; tries += 1) await strictest.request('POST /v1/auth/login', { body: wrong })
    expectProblem(await finish(strictest, open, { code: codeNow(user.secret) }), 'rate-limited')
    expectProblem(await login(strictest, user.email), 'rate-limited')
    expect((await signIn(user, open)).status).toBe(200)
  })

  it('opens no more sign-ins than the limit on failed ones, until the owner finishes one', async () => {
    const user = await newFactorUser(strict)
    const open = [await openSignIn(strict, user.email), await openSignIn(strict, user.email)]
    open.push(await openSignIn(strict, user.email))
    expectProblem(await login(strict, user.email), 'rate-limited')
    expect((await finish(strict, open[2] ?? '', { code: codeNow(user.secret) })).status).toBe(200)
    expect((await login(strict, user.email)).status).toBe(200)
  })
})
