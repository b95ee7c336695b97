import { describe, expect, it } from 'vitest'
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
import { mintSession } from '#tests/support/minted-session.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const service = useService()

const add = (token: string, body: object) => service.request('POST /v1/auth/factors/totp', { token, body })
const list = async (token: string) => (await service.request('GET /v1/auth/factors', { token })).body
const isLive = async (token: string) => (await service.request('GET /v1/auth/session', { token })).status === 200

/** Every request that changes a factor, or shows a draft. */
const CHANGES: readonly [route: string, body?: object][] = [
  ['POST /v1/auth/factors/setup-code'],
  ['POST /v1/auth/factors/draft', {}],
  ['GET /v1/auth/factors/draft'],
  ['POST /v1/auth/factors/totp', { code: '123456' }],
  ['POST /v1/auth/factors/passkey-options'],
  ['POST /v1/auth/factors/passkey', {}],
  ['POST /v1/auth/factors/recovery-codes'],
  ['DELETE /v1/auth/factors/ID'],
]

describe('the first authenticator app', () => {
  it('is added by a code of the draft and the mailed setup code: a two-factor session with a new token', async () => {
    const user = await newUser(service)
    const other = await mintSession(service.sql, { email: user.email, slug: 'acme-print' })
    expect(await list(user.token)).toEqual({ data: [], recovery_codes: null, required_by: [], reset: null })
    const draft = (await newDraft(service, user.token)).body
    expect(draft.uri).toContain(`secret=${draft.secret}`)
    expect(draft.recovery_codes).toHaveLength(10)
    expect((await service.request('GET /v1/auth/factors/draft', { token: user.token })).body).toEqual(draft)
    const setupCode = await mailedSetupCode(service, user)
    const added = await add(user.token, { code: codeNow(draft.secret), setup_code: setupCode.toLowerCase() })
    expect(added.status).toBe(200)
    expect(added.body.session).toMatchObject({ id: user.sessionId, second_factor_at: expect.any(String) })
    expect([await isLive(user.token), await isLive(other.token), await isLive(added.body.token)]).toEqual([
      false,
      false,
      true,
    ])
    const { data, recovery_codes: codes } = await list(added.body.token)
    expect(data).toMatchObject([{ id: added.body.factor.id, kind: 'totp', name: 'Authenticator app', usable: true }])
    expect(codes.left).toBe(10)
    const sent =
      await service.sql`select payload ->> 'change' as change from app.jobs where payload ->> 'user_id' = ${user.id}`
    expect(sent.map(({ change }) => change)).toContain('app-added')
  })

  it('needs the setup code: the password alone adds none', async () => {
    const [user, other] = [await newUser(service), await newUser(service)]
    const { secret } = (await newDraft(service, user.token)).body
    const foreign = await mailedSetupCode(service, other)
    const missing = await add(user.token, { code: codeNow(secret) })
    expectProblem(missing, 'validation-failed')
    expect(missing.body.errors).toMatchObject([{ pointer: '#/setup_code', code: 'required' }])
    const old = await mailedSetupCode(service, user)
    await service.sql`update app.tokens set expires_at = now() where user_id = ${user.id} and purpose = 'factor_setup'`
    for (const code of [foreign, old, '0000-0000']) {
      const refused = await add(user.token, { code: codeNow(secret), setup_code: code })
      expectProblem(refused, 'factor-rejected')
      expect(refused.body.errors).toMatchObject([{ pointer: '#/setup_code', code: 'wrong-code' }])
    }
    expect((await list(user.token)).data).toEqual([])
    expect((await login(service, user.email)).body.token).toBeDefined()
  })

  it('allows ten tries of the setup code, and five mails an hour', async () => {
    const user = await newUser(service)
    const { secret } = (await newDraft(service, user.token)).body
    for (let tries = 0; tries < 10; tries += 1)
      expectProblem(await add(user.token, { code: codeNow(secret), setup_code: '0000-0000' }), 'factor-rejected')
    expectProblem(await add(user.token, { code: codeNow(secret), setup_code: '0000-0000' }), 'rate-limited')
    const ask = () => service.request('POST /v1/auth/factors/setup-code', { token: user.token })
    for (let mails = 0; mails < 5; mails += 1) expect((await ask()).status).toBe(204)
    expectProblem(await ask(), 'rate-limited')
  })

  it('changes nothing until its code is entered: the draft is of one session, for 15 minutes, and the newest alone', async () => {
    const user = await newUser(service)
    const other = await mintSession(service.sql, { email: user.email })
    const setupCode = await mailedSetupCode(service, user)
    const first = (await newDraft(service, user.token)).body
    const second = (await newDraft(service, user.token)).body
    const proof = { code: codeNow(second.secret), setup_code: setupCode }
    expect((await service.request('GET /v1/auth/factors/draft', { token: other.token })).status).toBe(404)
    expectProblem(await add(other.token, proof), 'draft-expired')
    expectProblem(await add(user.token, { ...proof, code: codeNow(first.secret) }), 'factor-rejected')
    expectProblem(await add(user.token, { ...proof, code: wrongCode(second.secret) }), 'factor-rejected')
    await service.sql`update app.factor_drafts set expires_at = now() where user_id = ${user.id}`
    expectProblem(await add(user.token, proof), 'draft-expired')
    expect((await login(service, user.email)).body.token).toBeDefined()
  })

  it('does not accept the code of the enrolment again', async () => {
    const user = await newUser(service)
    const { secret } = (await newDraft(service, user.token)).body
    const code = codeNow(secret)
    expect((await add(user.token, { code, setup_code: await mailedSetupCode(service, user) })).status).toBe(200)
    expectProblem(await finish(service, await openSignIn(service, user.email), { code }), 'factor-rejected')
  })
})

describe('a session of a user with a factor', () => {
  it('that has just signed in changes no factor before a newer proof: each change', async () => {
    const user = await newFactorUser(service)
    const signedIn = await finish(service, await openSignIn(service, user.email), { code: codeNow(user.secret) })
    const { token } = signedIn.body
    for (const [route, body] of CHANGES)
      expectProblem(await service.request(route.replace('ID', user.factorId), { token, body }), 'step-up-required')
    expect((await list(token)).data).toHaveLength(1)
  })

  it.each([
    ['eleven minutes after a step-up', '11 minutes', 0],
    ['a day after the sign-in', '1 day', 1],
  ])('changes no factor %s', async (_when, ago, moved) => {
    const user = await newFactorUser(service)
    await service.sql`
      update app.sessions set stepped_up_at = now() - ${ago}::interval,
             created_at = now() - interval '1 day' - ${String(moved)}::interval where user_id = ${user.id}`
    for (const [route, body] of CHANGES)
      expectProblem(
        await service.request(route.replace('ID', user.factorId), { token: user.token, body }),
        'step-up-required',
      )
  })

  it('replaces the app after a step-up: recovery codes stay, the old app and other sessions end', async () => {
    const user = await newFactorUser(service)
    const other = await mintSession(service.sql, { email: user.email })
    const draft = (await newDraft(service, user.token)).body
    expect(draft.recovery_codes).toBeNull()
    // Until the new app is confirmed, the old one works.
    expect((await finish(service, await openSignIn(service, user.email), { code: codeNow(user.secret) })).status).toBe(
      200,
    )
    const replaced = await add(user.token, { code: codeNow(draft.secret) })
    expect(replaced.status).toBe(200)
    expect(await isLive(other.token)).toBe(false)
    await forgetStep(service, user.id)
    const open = await openSignIn(service, user.email)
    expectProblem(await finish(service, open, { code: codeNow(user.secret) }), 'factor-rejected')
    expect((await finish(service, open, { code: codeNow(draft.secret) })).status).toBe(200)
    const byCode = await finish(service, await openSignIn(service, user.email), {
      recovery_code: user.recoveryCodes[0],
    })
    expect(byCode.status).toBe(200)
  })

  it('renews the recovery codes by a draft: the old ones are void', async () => {
    const user = await newFactorUser(service)
    const renew = () => service.request('POST /v1/auth/factors/recovery-codes', { token: user.token })
    await newDraft(service, user.token)
    expectProblem(await renew(), 'draft-expired')
    const { recovery_codes: codes } = (await newDraft(service, user.token, { renew_codes: true })).body
    expect((await renew()).status).toBe(204)
    expectProblem(await renew(), 'draft-expired')
    const open = await openSignIn(service, user.email)
    expectProblem(await finish(service, open, { recovery_code: user.recoveryCodes[0] }), 'factor-rejected')
    expect((await finish(service, open, { recovery_code: codes[0] })).status).toBe(200)
  })

  it('renames its own factor, and no other', async () => {
    const [user, other] = [await newFactorUser(service), await newFactorUser(service)]
    const rename = (id: string) =>
      service.request(`PATCH /v1/auth/factors/${id}`, { token: user.token, body: { name: 'My phone' } })
    const renamed = await rename(user.factorId)
    expect(renamed.body).toEqual((await list(user.token)).data[0])
    expect(renamed.body.name).toBe('My phone')
    expect((await rename(other.factorId)).status).toBe(404)
    expect((await list(other.token)).data[0].name).toBe('Authenticator app')
  })

  it('removes the app: codes, drafts and open sign-ins are void, other sessions end, the password alone signs in', async () => {
    const [user, other] = [await newFactorUser(service), await newFactorUser(service)]
    const session = await mintSession(service.sql, { email: user.email })
    const open = await openSignIn(service, user.email)
    const remove = (id: string) => service.request(`DELETE /v1/auth/factors/${id}`, { token: user.token })
    expect((await remove(other.factorId)).status).toBe(404)
    expect((await remove(user.factorId)).status).toBe(204)
    expect(await isLive(session.token)).toBe(false)
    expectProblem(await finish(service, open, { recovery_code: user.recoveryCodes[0] }), 'sign-in-expired')
    const own = await service.request('GET /v1/auth/session', { token: user.token })
    expect(own.body.session.second_factor_at).toBeNull()
    expect(await list(user.token)).toEqual({ data: [], recovery_codes: null, required_by: [], reset: null })
    expect((await login(service, user.email)).body.token).toBeDefined()
    expect((await list(other.token)).data).toHaveLength(1)
  })

  it('removes the app after a recovery code: the lost phone asks for nothing', async () => {
    const user = await newFactorUser(service)
    const [first, second] = user.recoveryCodes
    const { body } = await finish(service, await openSignIn(service, user.email), { recovery_code: first })
    const stepped = await stepUp(service, body.token, { recovery_code: second })
    const removed = await service.request(`DELETE /v1/auth/factors/${user.factorId}`, { token: stepped.body.token })
    expect(removed.status).toBe(204)
  })

  it('leaves an entry in each tenant of the user for each change', async () => {
    const user = await newFactorUser(service, ['acme-print', 'bolt-apparel'])
    await newDraft(service, user.token, { renew_codes: true })
    await service.request('POST /v1/auth/factors/recovery-codes', { token: user.token })
    await stepUp(service, user.token, { recovery_code: 'unused' })
    await service.request(`DELETE /v1/auth/factors/${user.factorId}`, { token: user.token })
    const entries = await service.sql`
      select action, count(*)::int as tenants from app.audit_log where target_id = ${user.id} group by action order by action`
    expect(Object.fromEntries(entries.map(({ action, tenants }) => [action, tenants]))).toEqual({
      'user.recovery_codes_renewed': 2,
      'user.second_factor_added': 2,
      'user.second_factor_removed': 2,
    })
  })
})

describe('a step-up', () => {
  it('gives the same session a new token, and the old one is dead', async () => {
    const user = await newFactorUser(service)
    const { body } = await finish(service, await openSignIn(service, user.email), { code: codeNow(user.secret) })
    await forgetStep(service, user.id)
    const sessions = async () => (await service.sql`select from app.sessions where user_id = ${user.id}`).length
    const before = await sessions()
    const stepped = await stepUp(service, body.token, { code: codeNow(user.secret) })
    expect([stepped.status, await sessions()]).toEqual([200, before])
    expect([stepped.body.session.id, stepped.body.csrf_token]).toEqual([body.session.id, body.csrf_token])
    expect(Date.parse(stepped.body.session.stepped_up_at)).toBeGreaterThan(Date.parse(body.session.stepped_up_at))
    expect([await isLive(body.token), await isLive(stepped.body.token)]).toEqual([false, true])
    await newDraft(service, stepped.body.token)
  })

  it('takes the password without a factor, and never with one', async () => {
    const [plain, user] = [await newUser(service), await newFactorUser(service)]
    expect((await stepUp(service, plain.token, { password: PASSWORD })).status).toBe(200)
    const refused = await stepUp(service, user.token, { password: PASSWORD })
    expectProblem(refused, 'factor-rejected')
    expect(refused.body.errors).toMatchObject([{ pointer: '#/password', code: 'wrong-password' }])
    const wrong = await newUser(service)
    expectProblem(await stepUp(service, wrong.token, { password: 'wrong password here' }), 'factor-rejected')
    expect(await isLive(wrong.token)).toBe(true)
  })

  it('refuses a wrong code, a used one and codes of another user, and keeps the token', async () => {
    const [user, other] = [await newFactorUser(service), await newFactorUser(service)]
    const proofs = [
      { code: wrongCode(user.secret) },
      { code: codeNow(other.secret) },
      { recovery_code: other.recoveryCodes[0] },
      { recovery_code: user.recoveryCodes[0]?.replaceAll(/\w/g, '0') },
    ]
    for (const proof of proofs) expectProblem(await stepUp(service, user.token, proof), 'factor-rejected')
    expect(await isLive(user.token)).toBe(true)
    const code = codeNow(user.secret)
    const stepped = await stepUp(service, user.token, { code })
    expect(stepped.status).toBe(200)
    expectProblem(await stepUp(service, stepped.body.token, { code }), 'factor-rejected')
  })

  it('gives a session without a tenant more time, and leaves an entry in the tenant of another', async () => {
    const user = await newUser(service)
    await service.sql`update app.sessions set idle_expires_at = now() + interval '1 minute' where id = ${user.sessionId}`
    const { body } = await stepUp(service, user.token, { password: PASSWORD })
    expect(Date.parse(body.session.idle_expires_at) - Date.now()).toBeGreaterThan(800_000)
    const selected = await mintSession(service.sql, { email: user.email, slug: 'acme-print' })
    await stepUp(service, selected.token, { password: PASSWORD })
    const entries =
      await service.sql`select target_id from app.audit_log where action = 'session.stepped_up' and actor_user_id = ${user.id}`
    expect(entries.map(({ target_id }) => target_id)).toEqual([selected.id])
  })
})
