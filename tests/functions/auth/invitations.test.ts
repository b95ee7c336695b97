import { PROBLEM_BASE_URL } from '#tests/support/problem-base-url.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import { newToken } from '#shared/secret/secret.ts'
import { expectContract, expectProblem, indistinguishable } from '#tests/support/expect-answer.ts'
import { tokenIn } from '#tests/support/mail.ts'
import { createMember, createUser, type TestMember } from '#tests/support/minted-session.ts'
import type { Answer } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const NEW_PASSWORD = 'a passphrase of the invited'

const service = useService({ env: { INVITE_TENANT_LIMIT: '1000' } })
let slug: string
let tenant: string
let owner: TestMember
let admin: TestMember

beforeEach(async () => {
  ;({ slug, id: tenant, owner, admin } = await service.newTenant('owner', 'admin'))
})

/** Invites an address. Returns the invitation's id and the token of its email. */
async function invited(email: string, { role = 'sales', by = owner } = {}): Promise<{ id: string; token: string }> {
  // Delivers earlier mail first, so that the newest email is the invitation.
  await service.mail.deliver()
  const answer = await service.request('POST /v1/members/invite', { token: by.token, body: { email, role } })
  if (answer.status !== 200) throw new Error(`invite: ${answer.status} ${answer.text}`)
  return { id: answer.body.id, token: await service.mail.tokenFor(email) }
}
const inspect = (token: string): Promise<Answer> =>
  service.request('POST /v1/auth/invitations/inspect', { body: { token } })
const accept = (token: string, body: object = { password: NEW_PASSWORD, full_name: 'New Person' }): Promise<Answer> =>
  service.request('POST /v1/auth/invitations/accept', { body: { token, ...body } })
const signIn = (email: string, password = NEW_PASSWORD): Promise<Answer> =>
  service.request('POST /v1/auth/login', { body: { email, password } })
const accountOf = async (email: string) => (await service.sql`select * from app.users where email = ${email}`)[0]
const consumed = async (id: string): Promise<boolean> =>
  (await service.sql`select consumed_at from app.tokens where id = ${id}`)[0]?.['consumed_at'] !== null
/** Returns all rows that accepting an invitation could change. */
const state = async (): Promise<unknown> => [
  await service.sql`select * from app.users order by id`,
  await service.sql`select * from app.memberships order by id`,
  await service.sql`select * from app.tokens order by id`,
  await service.sql`select * from app.audit_log order by id`,
  await service.sql`select id from app.jobs order by id`,
]

describe('POST /v1/auth/invitations/inspect', () => {
  it('says whether the tenant asks the invited role for a second factor, now or later', async () => {
    const { id, owner } = await service.newTenant('owner')
    const email = `asked@${id}.test`
    await service.request('POST /v1/members/invite', { token: owner.token, body: { email, role: 'sales' } })
    const token = await service.mail.tokenFor(email)
    const required = async () => (await inspect(token)).body.second_factor_required
    expect(await required()).toBe(false)
    await service.sql`update app.tenants set second_factor_managers_from = now() where id = ${id}`
    expect(await required(), 'not of sales').toBe(false)
    await service.sql`update app.tenants set second_factor_everyone_from = now() + interval '9 days' where id = ${id}`
    expect(await required()).toBe(true)
  })

  it('returns tenant, email, role, inviter and whether the account exists, each time an invitation is inspected', async () => {
    const email = `new@${slug}.test`
    const { id, token } = await invited(email)
    await service.sql`update app.users set email_verified_at = now() where id = ${owner.userId}`
    for (let round = 0; round < 3; round += 1) {
      const answer = await inspect(token)
      expect(answer.status).toBe(200)
      expectContract(answer, null)
      expect(answer.body).toEqual({
        tenant: { slug, legal_name: `Shop ${slug}` },
        email,
        role: 'sales',
        role_label: 'Sales',
        account_exists: false,
        consumed: false,
        inviter: { full_name: 'Person owner', email: `owner@${slug}.test` },
        second_factor_required: false,
      })
    }
    expect(await consumed(id)).toBe(false)
    await createUser(service.sql, { email })
    expect((await inspect(token)).body.account_exists).toBe(true)
  })

  it('names no inviter when the platform invites, or when the address of the inviter is not verified', async () => {
    const { id, token } = await invited(`new@${slug}.test`)
    expect((await inspect(token)).body.inviter).toBeNull()
    await service.sql`update app.users set email_verified_at = now() where id = ${owner.userId}`
    expect((await inspect(token)).body.inviter).not.toBeNull()
    await service.sql`update app.tokens set invited_by = null where id = ${id}`
    expect((await inspect(token)).body.inviter).toBeNull()
  })
})

describe('an accepted invitation', () => {
  it('shows no shop and no role once the membership has ended, and accepting it again changes nothing', async () => {
    const email = `removed-${Date.now()}@${slug}.test`
    const { token } = await invited(email)
    expect((await accept(token, { password: NEW_PASSWORD })).status).toBe(200)
    expect((await inspect(token)).body).toMatchObject({ consumed: true, tenant: { slug } })
    await service.sql`
      update app.memberships m set revoked_at = now() from app.users u where u.id = m.user_id and u.email = ${email}`
    const ended = await inspect(token)
    expect([ended.status, ended.body.type]).toEqual([400, `${PROBLEM_BASE_URL}/token-invalid`])
    expect(ended.text).not.toContain(slug)
    expect((await accept(token, { password: NEW_PASSWORD })).status).toBe(200)
    const [row] = await service.sql`
      select m.revoked_at from app.memberships m join app.users u on u.id = m.user_id where u.email = ${email}`
    expect(row?.['revoked_at']).not.toBeNull()
  })
})

describe('accepting an invitation without an account', () => {
  it('creates a user with a verified address and a membership when an invitation is accepted', async () => {
    const email = `new@${slug}.test`
    const { id, token } = await invited(email)
    const answer = await accept(token, { password: NEW_PASSWORD, full_name: '  Nova Person ' })
    expect(answer.status).toBe(200)
    expectContract(answer, null)
    expect(answer.body).toEqual({
      tenant: { id: tenant, slug, legal_name: `Shop ${slug}` },
      email,
      role: 'sales',
      account_created: true,
    })
    expect((await inspect(token)).body).toMatchObject({ account_exists: true, consumed: true })
    expect(await accountOf(email)).toMatchObject({ full_name: 'Nova Person', email_verified_at: expect.any(Date) })
    expect(await consumed(id)).toBe(true)
    const login = await signIn(email)
    expect(login.status).toBe(200)
    const { body } = await service.request('GET /v1/auth/tenants', { token: login.body.token })
    expect(body.data).toMatchObject([{ tenant: { id: tenant }, role: { code: 'sales' } }])
    await service.mail.deliver()
    expect(service.mail.to(email)[0]?.subject).toBe(`You were added to Shop ${slug} (${slug})`)
  })

  it('rejects a weak password, or a name with a link, of an invited person and keeps the invitation open', async () => {
    const email = `weak@${slug}.test`
    const { id, token } = await invited(email)
    for (const body of [{}, { password: null }, { full_name: 'No Password' }]) {
      const answer = await accept(token, body)
      expect(answer.status).toBe(422)
      expect(answer.body.errors).toEqual([{ pointer: '#/password', code: 'required', detail: 'is required' }])
    }
    for (const password of ['short', 'passwordpassword', email, `SHOP ${slug}`, `SHOP ${slug}q7vkp2z`]) {
      const answer = await accept(token, { password })
      expectProblem(answer, 'password-rejected', password)
      expect(answer.body.errors[0].pointer).toBe('#/password')
      expectContract(answer, null)
    }
    const named = await accept(token, { password: NEW_PASSWORD, full_name: 'Confirm at https://evil.test' })
    expect([named.status, named.body.errors?.[0]?.pointer]).toEqual([422, '#/full_name'])
    expect(await consumed(id)).toBe(false)
    expect(await accountOf(email)).toBeUndefined()
    expect((await accept(token)).body.account_created).toBe(true)
  })

  it('creates one user when two tenants invite the same address in different case', async () => {
    const email = `case@${slug}.test`
    const first = await invited(email.toUpperCase())
    expect((await accept(first.token)).body.account_created).toBe(true)
    const { owner: boss } = await service.newTenant('owner')
    const second = await invited(email, { by: boss })
    expect((await inspect(second.token)).body.account_exists).toBe(true)
    expect((await accept(second.token, {})).body.account_created).toBe(false)
    expect(await service.sql`select from app.users where email = ${email}`).toHaveLength(1)
    expect(await service.sql`select from app.users where lower(email collate "C") = ${email}`).toHaveLength(1)
    expect((await signIn(email)).status).toBe(200)
  })
})

describe('accepting an invitation with an account', () => {
  it('adds only the membership when the invited person has an account, and ignores the password sent', async () => {
    const email = `old@${slug}.test`
    await createUser(service.sql, { email })
    const { token } = await invited(email)
    const before = await accountOf(email)
    const answer = await accept(token, { password: NEW_PASSWORD, full_name: 'Another Name' })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      tenant: { id: tenant, slug, legal_name: `Shop ${slug}` },
      email,
      role: 'sales',
      account_created: false,
    })
    expect(await accountOf(email)).toEqual(before)
    expect((await signIn(email)).status).toBe(401)
    expect(await service.sql`select from app.sessions where user_id = ${before?.['id']}`).toHaveLength(0)
    const [membership] = await service.sql`
      select accepted_at, invited_by, tenant_id from app.memberships where user_id = ${before?.['id']}`
    expect(membership).toEqual({ accepted_at: expect.any(Date), invited_by: owner.userId, tenant_id: tenant })
  })

  it('accepts an invitation without a password, or with a weak one, when the account exists', async () => {
    for (const [name, body] of [
      ['none', {}],
      ['weak', { password: 'weak' }],
    ] as const) {
      const email = `${name}@${slug}.test`
      await createUser(service.sql, { email })
      expect((await accept((await invited(email)).token, body)).status, name).toBe(200)
    }
  })
})

describe('accepting an invitation again', () => {
  it('returns 200 and changes nothing when an invitation is accepted again, even after its expiry', async () => {
    const email = `twice@${slug}.test`
    const { id, token } = await invited(email)
    await accept(token)
    const before = await state()
    const again = await accept(token, { password: 'another passphrase entirely', full_name: 'Somebody Else' })
    expect(again.status).toBe(200)
    expect(again.body).toMatchObject({ email, role: 'sales', account_created: false, tenant: { id: tenant } })
    expect((await accept(token, {})).status).toBe(200)
    expect(await state()).toEqual(before)
    await service.sql`update app.tokens set expires_at = now() - interval '1 day' where id = ${id}`
    expect((await accept(token)).status).toBe(200)
    expect((await signIn(email, 'another passphrase entirely')).status).toBe(401)
  })
})

describe('refused invitation tokens', () => {
  it('returns the same 400 for an unknown, expired, cancelled, malformed or wrong-purpose invitation token', async () => {
    const expired = await invited(`expired@${slug}.test`)
    await service.sql`update app.tokens set expires_at = now() where id = ${expired.id}`
    const cancelled = await invited(`cancelled@${slug}.test`)
    await service.request(`DELETE /v1/members/invitations/${cancelled.id}`, { token: owner.token })
    const reset = `reset@${slug}.test`
    await createUser(service.sql, { email: reset })
    await service.request('POST /v1/auth/password/forgot', { body: { email: reset } })
    await service.mail.deliver()
    const live = await invited(`live@${slug}.test`)
    const before = await state()
    for (const call of [inspect, accept]) {
      const bodies = new Set<string>()
      for (const token of [
        newToken(),
        expired.token,
        cancelled.token,
        tokenIn(service.mail.to(reset)[0]),
        owner.token,
        '',
        'x',
        `${live.token}=`,
        ` ${live.token}`,
        live.token.slice(1),
        live.id,
        '../../etc/passwd',
      ]) {
        const answer = await call(token)
        expectProblem(answer, 'token-invalid', token)
        expectContract(answer, null)
        const { headers, ...rest } = indistinguishable(answer) as { headers: [string, string][] }
        // Each attempt lowers the remaining count, whatever the token.
        bodies.add(JSON.stringify([rest, headers.filter(([name]) => !name.startsWith('ratelimit'))]))
      }
      expect(bodies.size).toBe(1)
    }
    expect(await state()).toEqual(before)
    expect((await inspect(live.token)).status).toBe(200)
  })

  it('rejects an invitation while its inviter may not invite to the role', async () => {
    const email = `demoted@${slug}.test`
    const { id, token } = await invited(email, { role: 'sales', by: admin })
    const membership = admin.membershipId
    const obstacles = [
      ['designer', service.sql`update app.memberships set role_id = 5 where id = ${membership}`],
      ['revoked', service.sql`update app.memberships set role_id = 2, revoked_at = now() where id = ${membership}`],
      ['disabled', service.sql`update app.users set disabled_at = now() where id = ${admin.userId}`],
    ] as const
    for (const [why, obstruct] of obstacles) {
      await obstruct
      if (why === 'disabled') await service.sql`update app.memberships set revoked_at = null where id = ${membership}`
      const answer = await accept(token)
      expectProblem(answer, 'token-invalid', why)
    }
    expect(await consumed(id)).toBe(false)
    expect(await accountOf(email)).toBeUndefined()
    await service.sql`update app.users set disabled_at = null where id = ${admin.userId}`
    expect((await accept(token)).status).toBe(200)
  })

  it('rejects an invitation of a disabled user, whom no invitation is mailed to, until they are enabled', async () => {
    const email = `stopped@${slug}.test`
    await createUser(service.sql, { email })
    const { id, token } = await invited(email)
    await service.sql`update app.users set disabled_at = now() where email = ${email}`
    for (const answer of [await inspect(token), await accept(token)]) expectProblem(answer, 'token-invalid')
    expect(await consumed(id)).toBe(false)
    const { status } = await service.request(`POST /v1/members/invitations/${id}/resend`, { token: owner.token })
    expect(status).toBe(200)
    expect(await service.mail.deliver()).toBe(0)
    await service.sql`update app.users set disabled_at = null where email = ${email}`
    const renewed = await invited(email)
    expect((await accept(renewed.token)).status).toBe(200)
    // Accepting again changes nothing, so that it stays a success.
    await service.sql`update app.users set disabled_at = now() where email = ${email}`
    for (const answer of [await inspect(renewed.token), await accept(renewed.token)]) expect(answer.status).toBe(200)
  })

  it('rejects an invitation to a role above the inviter’s current rank', async () => {
    const second = await createMember(service.sql, { email: `second@${slug}.test`, slug })
    const { token } = await invited(`above@${slug}.test`, { role: 'owner', by: second })
    await service.sql`update app.memberships set role_id = 2 where id = ${second.membershipId}`
    expect((await accept(token)).status).toBe(400)
    await service.sql`update app.memberships set role_id = 1 where id = ${second.membershipId}`
    expect((await accept(token)).status).toBe(200)
  })

  it.each(['suspended', 'cancelled', 'deleted'])('rejects an invitation to a tenant that is %s', async (status) => {
    const { id, token } = await invited(`closed@${slug}.test`)
    if (status === 'deleted') await service.sql`update app.tenants set deleted_at = now() where id = ${tenant}`
    else await service.sql`update app.tenants set status = ${status} where id = ${tenant}`
    for (const answer of [await inspect(token), await accept(token)]) {
      expectProblem(answer, 'token-invalid')
    }
    expect(await consumed(id)).toBe(false)
    expect(await accountOf(`closed@${slug}.test`)).toBeUndefined()
  })
})
