import { describe, expect, it } from 'vitest'
import { resetFactors } from '#functions/workers/audit-sign-ins/reset-factors.ts'
import { newToken } from '#shared/secret/secret.ts'
import { expectContract, expectProblem } from '#tests/support/expect-answer.ts'
import {
  codeNow,
  type FactorUser,
  finish,
  forgetStep,
  login,
  newFactorUser,
  newUser,
  openSignIn,
  stepUp,
} from '#tests/support/factor.ts'
import { mintSession } from '#tests/support/minted-session.ts'
import { useService } from '#tests/support/test.ts'

const HOURS = 30
const service = useService({ env: { FACTOR_RESET_HOURS: String(HOURS), FORGOT_EMAIL_LIMIT: '1000' } })
const NEW_PASSWORD = 'a passphrase after the reset'

const asViewer = async <User extends { id: string }>(user: User): Promise<User> => {
  await service.sql`update app.memberships set role_id = 7 where user_id = ${user.id}`
  return user
}
const newViewer = async (slugs?: readonly string[]) => asViewer(await newFactorUser(service, slugs))
const newPlainViewer = async () => asViewer(await newUser(service))
const managerOf = async (email = 'admin@acme.test') =>
  (await mintSession(service.sql, { email, slug: 'acme-print' })).token
async function membershipOf(userId: string, slug = 'acme-print'): Promise<string> {
  const [row] = await service.sql`
    select m.id from app.memberships m join app.tenants t on t.id = m.tenant_id where m.user_id = ${userId} and t.slug = ${slug}`
  return row?.['id']
}
const vouch = async (user: { id: string }, token?: string) =>
  service.request(`POST /v1/members/${await membershipOf(user.id)}/factor-reset`, {
    token: token ?? (await managerOf()),
  })
const resetsOf = async ({ id }: { id: string }) => [
  ...(await service.sql`
    select requested_by is null as operated, effective_at, cancelled_at is not null as cancelled, done_at is not null as done
      from app.factor_resets where user_id = ${id} order by requested_at`),
]
const isOpen = async (user: { id: string }) =>
  (await resetsOf(user)).some(({ cancelled, done }) => cancelled === false && done === false)
/** Moves the time of the reset and of its job into the past, and runs what is due. */
async function letTimePass({ id }: { id: string }): Promise<number> {
  await service.sql`update app.factor_resets set effective_at = now() where user_id = ${id} and effective_at is not null`
  await service.sql`
    update app.jobs set run_at = now() where kind = 'factor-reset' and completed_at is null
       and payload ->> 'reset_id' in (select r.id::text from app.factor_resets r where r.user_id = ${id})`
  return resetFactors(service.worker.database, () => false)
}
const cancel = (token: string) => service.request('POST /v1/auth/factor-resets/cancel', { body: { token } })
const inspect = (token: string) => service.request('POST /v1/auth/factor-resets/inspect', { body: { token } })
const changesMailed = async ({ id }: { id: string }) =>
  (
    await service.sql`
      select coalesce(payload ->> 'change', payload ->> 'template') as change from app.jobs
       where kind = 'mail' and payload ->> 'user_id' = ${id} order by created_at, id`
  ).map(({ change }) => change)
/** Returns what of a user a reset ends. */
async function leftOf({ id }: { id: string }) {
  const [row] = await service.sql`
    select (select count(*)::int from app.factors where user_id = ${id}) as factors,
           (select count(*)::int from app.factor_drafts where user_id = ${id}) as drafts,
           (select count(*)::int from app.open_sign_ins where user_id = ${id}) as open,
           (select count(*)::int from app.sessions where user_id = ${id} and revoked_at is null) as sessions,
           (select count(*)::int from app.tokens where user_id = ${id} and purpose = 'recovery_code' and expires_at > now()) as codes,
           (select password_hash is not null from app.users where id = ${id}) as password`
  return row
}

describe('a manager who vouches for a member', () => {
  it('removes the factors, the codes, the password and every session after the hours of the setting, and a mailed link leads back', async () => {
    const user = await newViewer()
    const open = await openSignIn(service, user.email)
    const answer = await vouch(user)
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ user: { email: user.email }, accepted_at: expect.any(String) })
    const [{ effective_at: at }] = (await resetsOf(user)) as [{ effective_at: Date }]
    expect(Math.abs(at.getTime() - Date.now() - HOURS * 3_600_000)).toBeLessThan(120_000)
    expect(await resetFactors(service.worker.database, () => false)).toBe(0)
    expect(await leftOf(user)).toMatchObject({ factors: 1, open: 1, codes: 10, password: true })
    await service.mail.deliver()
    expect(service.mail.to(user.email)[0]?.subject).toBe('Somebody asked to remove your second step')
    expect(await letTimePass(user)).toBe(1)
    expect(await leftOf(user)).toEqual({ factors: 0, drafts: 0, open: 0, sessions: 0, codes: 0, password: false })
    expectProblem(await finish(service, open, { code: codeNow(user.secret) }), 'sign-in-expired')
    expect((await login(service, user.email)).status).toBe(401)
    const token = await service.mail.tokenFor(user.email)
    expect((await cancel(token)).status).toBe(400)
    const reset = { token, password: NEW_PASSWORD }
    expect((await service.request('POST /v1/auth/password/reset', { body: reset })).status).toBe(204)
    const back = await service.request('POST /v1/auth/login', { body: { email: user.email, password: NEW_PASSWORD } })
    expect(back.body.session.second_factor_at).toBeNull()
    expect(await changesMailed(user)).toContain('reset-done')
  })

  it('is seen by the user, and by nobody else, while the reset is open', async () => {
    const [user, other] = [await newViewer(), await newViewer()]
    const seen = async ({ token }: { token: string }) =>
      (await service.request('GET /v1/auth/factors', { token })).body.reset
    expect(await seen(user)).toBeNull()
    await vouch(user)
    expect(await seen(user)).toEqual({ requested_at: expect.any(String), effective_at: expect.any(String) })
    expect(await seen(other)).toBeNull()
    await cancel(await service.mail.tokenFor(user.email))
    expect(await seen(user)).toBeNull()
  })

  it('is answered the same for a person of two shops, whose reset waits for an operator', async () => {
    const [one, two] = [await newViewer(), await newViewer(['acme-print', 'bolt-apparel'])]
    const [first, second] = [await vouch(one), await vouch(two)]
    expect(second.status).toBe(200)
    expect(Object.keys(second.body)).toEqual(Object.keys(first.body))
    expect(await resetsOf(two)).toMatchObject([{ effective_at: null, cancelled: false, done: false }])
    await service.mail.deliver()
    expect(service.mail.to(two.email)[0]?.text).toContain('must confirm it first')
    expect(await letTimePass(two)).toBe(0)
    expect(await leftOf(two)).toMatchObject({ factors: 1, password: true })
  })

  it.each([
    ['joins a second shop', 'insert'],
    ['moves to another shop', 'move'],
  ])('is not enough for a person who %s before the time: the reset waits for an operator', async (_what, how) => {
    const user = await newViewer()
    await vouch(user)
    if (how === 'move') await service.sql`update app.memberships set revoked_at = now() where user_id = ${user.id}`
    await service.sql`
      insert into app.memberships (tenant_id, user_id, role_id, accepted_at)
      select t.id, ${user.id}, 7, now() from app.tenants t where t.slug = 'bolt-apparel'`
    expect(await letTimePass(user)).toBe(0)
    expect(await resetsOf(user)).toMatchObject([{ effective_at: null, cancelled: false, done: false }])
    expect(await leftOf(user)).toMatchObject({ factors: 1, password: true })
  })

  it('is not enough when the manager has lost the role before the time', async () => {
    const user = await newViewer()
    const { id: tenant, admin, slug } = await service.newTenant('owner', 'admin')
    await service.sql`update app.memberships set tenant_id = ${tenant}, role_id = 7 where user_id = ${user.id}`
    const route = `POST /v1/members/${await membershipOf(user.id, slug)}/factor-reset`
    expect((await service.request(route, { token: admin.token })).status).toBe(200)
    await service.sql`update app.memberships set role_id = 7 where user_id = ${admin.userId}`
    expect(await letTimePass(user)).toBe(0)
    expect(await isOpen(user)).toBe(true)
  })

  it('may not vouch for themselves, for a higher role, for nobody, nor for a member without a factor', async () => {
    const [owner, plain] = [await newViewer(), await newPlainViewer()]
    await service.sql`update app.memberships set role_id = 1 where user_id = ${owner.id}`
    expect((await vouch(owner)).status).toBe(403)
    const own = (await mintSession(service.sql, { email: owner.email, slug: 'acme-print' })).token
    expect((await vouch(owner, own)).status).toBe(403)
    expect((await vouch(plain)).status).toBe(404)
    const elsewhere = await newViewer(['bolt-apparel'])
    const foreign = `POST /v1/members/${await membershipOf(elsewhere.id, 'bolt-apparel')}/factor-reset`
    expect((await service.request(foreign, { token: await managerOf() })).status).toBe(404)
    const left = await newViewer()
    await service.sql`update app.memberships set revoked_at = now() where user_id = ${left.id}`
    expect((await vouch(left)).status).toBe(404)
    for (const user of [owner, plain, elsewhere, left]) expect(await resetsOf(user)).toEqual([])
  })

  it('adds nothing by a request that is repeated while one is open', async () => {
    const user = await newViewer()
    const [first, again] = [await vouch(user), await vouch(user, await managerOf('owner@acme.test'))]
    expect([first.status, again.status]).toEqual([200, 200])
    expect(await resetsOf(user)).toHaveLength(1)
    expect((await changesMailed(user)).filter((change) => change === 'second-factor-reset')).toHaveLength(1)
  })
})

describe('until a reset takes effect, it is cancelled', () => {
  it('by the link of its mail, without a session, once; the second use changes nothing', async () => {
    const user = await newViewer()
    await vouch(user)
    const token = await service.mail.tokenFor(user.email)
    const inspected = await inspect(token)
    expect([inspected.status, inspected.body]).toEqual([200, { email: user.email }])
    expectContract(inspected, null)
    expect(await isOpen(user)).toBe(true)
    for (let time = 0; time < 2; time += 1) expect((await cancel(token)).status).toBe(204)
    expect(await resetsOf(user)).toMatchObject([{ cancelled: true, done: false }])
    expect(await letTimePass(user)).toBe(0)
    expect(await leftOf(user)).toMatchObject({ factors: 1, codes: 10, password: true })
    expect((await changesMailed(user)).filter((change) => change === 'reset-cancelled')).toHaveLength(1)
    expectProblem(await inspect(token), 'token-invalid')
  })

  it('by no other token: the same 400, and the reset stays', async () => {
    const [user, other] = [await newViewer(), await newViewer()]
    await vouch(user)
    await vouch(other)
    await service.mail.deliver()
    await service.request('POST /v1/auth/password/forgot', { body: { email: user.email } })
    const ofReset = await service.mail.tokenFor(user.email)
    const old = await service.mail.tokenFor(other.email)
    await service.sql`update app.tokens set expires_at = now() where user_id = ${other.id} and purpose = 'factor_reset_cancel'`
    for (const token of [newToken(), 'malformed', '', ofReset, old, user.token]) {
      const refused = await cancel(token)
      expectProblem(refused, 'token-invalid')
      expectContract(refused, null)
      expectProblem(await inspect(token), 'token-invalid')
    }
    expect([await isOpen(user), await isOpen(other)]).toEqual([true, true])
  })

  it.each<[string, (user: FactorUser) => Promise<{ status: number }>]>([
    [
      'a sign-in with a code of the app',
      async (user) => finish(service, await openSignIn(service, user.email), { code: codeNow(user.secret) }),
    ],
    [
      'a sign-in with a recovery code',
      async (user) => finish(service, await openSignIn(service, user.email), { recovery_code: user.recoveryCodes[0] }),
    ],
    ['a step-up with a code of the app', (user) => stepUp(service, user.token, { code: codeNow(user.secret) })],
  ])('by %s', async (_how, prove) => {
    const user = await newViewer()
    await vouch(user)
    const link = await service.mail.tokenFor(user.email)
    expect((await prove(user)).status).toBe(200)
    expect(await resetsOf(user)).toMatchObject([{ cancelled: true, done: false }])
    expect((await cancel(link)).status).toBe(204)
    expect(await letTimePass(user)).toBe(0)
    expect(await changesMailed(user)).toContain('reset-cancelled')
    expect((await vouch(user)).status).toBe(200)
    expect(await resetsOf(user)).toHaveLength(2)
  })

  it('by no sign-in that has not proven the factor: the password alone changes nothing', async () => {
    const user = await newViewer()
    await vouch(user)
    await finish(service, await openSignIn(service, user.email), { code: '000000' })
    await service.request('POST /v1/auth/password/forgot', { body: { email: user.email } })
    const token = await service.mail.tokenFor(user.email)
    await service.request('POST /v1/auth/password/reset', { body: { token, password: NEW_PASSWORD } })
    expect(await isOpen(user)).toBe(true)
  })
})

describe('a thief of a shop’s member', () => {
  it('gets nothing by the password and a good story: the password is gone when the factor is', async () => {
    const user = await newViewer()
    await vouch(user)
    await letTimePass(user)
    expect((await login(service, user.email)).status).toBe(401)
    expect((await stepUp(service, user.token, { recovery_code: user.recoveryCodes[0] })).status).toBe(401)
  })

  it('gets nothing by the mailbox alone: a password reset asks for the factor, and no mail requests a reset', async () => {
    const user = await newViewer()
    await service.request('POST /v1/auth/password/forgot', { body: { email: user.email } })
    const token = await service.mail.tokenFor(user.email)
    await service.request('POST /v1/auth/password/reset', { body: { token, password: NEW_PASSWORD } })
    const owed = await service.request('POST /v1/auth/login', { body: { email: user.email, password: NEW_PASSWORD } })
    expect(Object.keys(owed.body)).toEqual(['second_factor'])
    expect(await resetsOf(user)).toEqual([])
  })

  it('waits, with the password, the mailbox and a good story, for hours in which the owner cancels', async () => {
    const user = await newViewer()
    await vouch(user)
    const link = await service.mail.tokenFor(user.email)
    await service.request('POST /v1/auth/password/forgot', { body: { email: user.email } })
    const token = await service.mail.tokenFor(user.email)
    await service.request('POST /v1/auth/password/reset', { body: { token, password: NEW_PASSWORD } })
    const logIn = async () =>
      (await service.request('POST /v1/auth/login', { body: { email: user.email, password: NEW_PASSWORD } })).body
    expect(await resetFactors(service.worker.database, () => false)).toBe(0)
    expect(Object.keys(await logIn())).toEqual(['second_factor'])
    expect((await cancel(link)).status).toBe(204)
    expect(await letTimePass(user)).toBe(0)
    expect(Object.keys(await logIn())).toEqual(['second_factor'])
    expect(await leftOf(user)).toMatchObject({ factors: 1, codes: 10 })
  })
})

it('leaves an entry in each tenant of the user for each step, and tells other tenants nothing of who asked', async () => {
  const user = await newViewer(['acme-print', 'bolt-apparel'])
  await vouch(user)
  await forgetStep(service, user.id)
  await finish(service, await openSignIn(service, user.email), { code: codeNow(user.secret) })
  const entries = await service.sql`
    select l.action, t.slug, u.email as actor, l.ip_hash is not null as has_ip from app.audit_log l
      join app.tenants t on t.id = l.tenant_id left join app.users u on u.id = l.actor_user_id
     where l.target_id = ${user.id} and l.action like 'user.second_factor_reset%' order by l.action, t.slug`
  expect([...entries]).toEqual([
    { action: 'user.second_factor_reset_cancelled', slug: 'acme-print', actor: user.email, has_ip: true },
    { action: 'user.second_factor_reset_cancelled', slug: 'bolt-apparel', actor: user.email, has_ip: true },
    { action: 'user.second_factor_reset_requested', slug: 'acme-print', actor: 'admin@acme.test', has_ip: true },
    { action: 'user.second_factor_reset_requested', slug: 'bolt-apparel', actor: null, has_ip: false },
  ])
})

it('mails a user who has three recovery codes left, or fewer, that they should make new ones', async () => {
  const user = await newViewer()
  for (const code of user.recoveryCodes.slice(0, 8))
    await finish(service, await openSignIn(service, user.email), { recovery_code: code })
  const mailed = await changesMailed(user)
  for (const [change, times] of [
    ['code-used', 6],
    ['few-codes', 2],
  ])
    expect(mailed.filter((each) => each === change)).toHaveLength(Number(times))
})
