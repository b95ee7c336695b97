import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { tokenIn } from '#tests/support/mail.ts'
import { createUser, mintSession } from '#tests/support/minted-session.ts'
import { rounds } from '#tests/support/rounds.ts'
import type { Answer } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const service = useService({
  env: { INVITE_TENANT_LIMIT: '1000000', FORGOT_EMAIL_LIMIT: '1000000', FORGOT_IP_LIMIT: '1000000' },
})

const jitter = (ms: number): Promise<void> => delay(Math.random() * ms)

let made = 0
const newAddress = (): string => `person${(made += 1)}@races.test`

interface Tenant {
  readonly id: string
  readonly slug: string
}

/** Creates a tenant without members. */
async function newTenant(): Promise<Tenant> {
  const slug = `race-${(made += 1)}`
  const [tenant] = await service.sql<Tenant[]>`
    insert into app.tenants (slug, legal_name, status) values (${slug}, ${slug}, 'active') returning id, slug`
  if (tenant === undefined) throw new Error('no tenant was made')
  return tenant
}

interface Member {
  readonly email: string
  readonly userId: string
  readonly membershipId: string
  readonly token: string
}

/** Creates a member with a session in the tenant. */
async function newMember({ slug, id }: Tenant, role = 'owner', email = newAddress()): Promise<Member> {
  const [known] = await service.sql<{ id: string }[]>`select id from app.users where email = ${email}`
  const userId = known?.id ?? (await createUser(service.sql, { email }))
  const [membership] = await service.sql<{ id: string }[]>`
    insert into app.memberships (tenant_id, user_id, role_id, accepted_at)
    select ${id}, ${userId}, id, now() from app.roles where code = ${role} returning id`
  const { token } = await mintSession(service.sql, { email, slug })
  return { email, userId, membershipId: membership?.id ?? '', token }
}

const invite = ({ token }: Member, email: string, role = 'viewer'): Promise<Answer> =>
  service.request('POST /v1/members/invite', { token, body: { email, role } })

const cancel = ({ token }: Member, invitationId: string): Promise<Answer> =>
  service.request(`DELETE /v1/members/invitations/${invitationId}`, { token })

const changeRole = ({ token }: Member, { membershipId }: Pick<Member, 'membershipId'>, role: string): Promise<Answer> =>
  service.request(`PATCH /v1/members/${membershipId}`, { token, body: { role } })

const remove = ({ token }: Member, { membershipId }: Member): Promise<Answer> =>
  service.request(`DELETE /v1/members/${membershipId}`, { token })

const accept = (token: string, password = `a sentence of nobody else ${randomUUID()}`): Promise<Answer> =>
  service.request('POST /v1/auth/invitations/accept', { body: { token, full_name: 'A Person', password } })

const statuses = (answers: readonly Answer[]): number[] => answers.map(({ status }) => status)
const ascending = (one: number, other: number): number => one - other

const membershipsOf = (email: string) => service.sql<
  { tenant_id: string; role: string; accepted_at: Date | null; revoked_at: Date | null }[]
>`
  select m.tenant_id, r.code as role, m.accepted_at, m.revoked_at from app.memberships m
    join app.users u on u.id = m.user_id join app.roles r on r.id = m.role_id where u.email = ${email}`

const owners = ({ id }: Tenant) => service.sql`
  select from app.memberships where tenant_id = ${id} and role_id = 1 and accepted_at is not null and revoked_at is null`

/** Waits until so many connections of the service wait for a lock. */
const waiting = (count: number) =>
  vi.waitUntil(
    async () =>
      (
        await service.sql`
          select from pg_stat_activity
           where datname = current_database() and usename in ('identity_app', 'identity_auth') and wait_event_type = 'Lock'`
      ).length >= count,
    { timeout: 1200, interval: 5 },
  )

describe('password resets', () => {
  const forgot = async (email: string): Promise<string> => {
    await service.request('POST /v1/auth/password/forgot', { body: { email } })
    return service.mail.tokenFor(email)
  }
  const reset = (token: string, password: string): Promise<Answer> =>
    service.request('POST /v1/auth/password/reset', { body: { token, password } })
  /** As a client does after a 503: a reset that holds the others up for a second, on a slow machine, is ended. */
  const resetAgain = async (token: string, password: string): Promise<Answer> => {
    const answer = await reset(token, password)
    return answer.status === 503 ? resetAgain(token, password) : answer
  }
  const logIn = (email: string, password: string): Promise<Answer> =>
    service.request('POST /v1/auth/login', { body: { email, password } })

  it('applies exactly one of fifty concurrent resets with the same token', async () => {
    for (const round of rounds(5)) {
      const email = newAddress()
      await createUser(service.sql, { email })
      const old = await mintSession(service.sql, { email })
      const token = await forgot(email)
      const passwords = Array.from({ length: 50 }, (_, index) => `a sentence with the number ${index} of ${round}`)
      const answers = await Promise.all(passwords.map((password) => resetAgain(token, password)))
      expect(new Set(statuses(answers))).toEqual(new Set([204]))
      const logins = await Promise.all(passwords.map((password) => logIn(email, password)))
      expect(statuses(logins).toSorted(ascending)).toEqual([200, ...Array.from({ length: 49 }, () => 401)])
      expect((await service.request('GET /v1/auth/session', { token: old.token })).status).toBe(401)
      const changed = await service.sql`
        select from app.jobs j join app.users u on u.id::text = j.payload ->> 'user_id'
         where u.email = ${email} and j.payload ->> 'template' = 'password-changed'`
      expect(changed).toHaveLength(1)
    }
  })

  it('applies one of two concurrent resets with different tokens, without a 5xx', async () => {
    for (const round of rounds(15)) {
      const email = newAddress()
      await createUser(service.sql, { email })
      const tokens = [await forgot(email), await forgot(email)]
      const passwords = [`the first sentence of round ${round}`, `the second sentence of round ${round}`]
      const answers = await Promise.all(tokens.map((token, index) => reset(token, passwords[index] ?? '')))
      for (const { status } of answers) expect([204, 400]).toContain(status)
      expect(statuses(answers)).toContain(204)
      const logins = await Promise.all(passwords.map((password) => logIn(email, password)))
      expect(statuses(logins).toSorted(ascending)).toEqual([200, 401])
    }
  })
})

describe('invitations', () => {
  it('creates one user and one membership when an invitation is accepted five times concurrently', async () => {
    const tenant = await newTenant()
    const owner = await newMember(tenant)
    for (const _ of rounds(15)) {
      const email = newAddress()
      expect((await invite(owner, email)).status).toBe(200)
      const token = await service.mail.tokenFor(email)
      const answers = await Promise.all(Array.from({ length: 5 }, () => accept(token)))
      expect(new Set(statuses(answers))).toEqual(new Set([200]))
      expect(answers.filter(({ body }) => body.account_created)).toHaveLength(1)
      expect(await membershipsOf(email)).toMatchObject([
        { role: 'viewer', accepted_at: expect.any(Date), revoked_at: null },
      ])
      expect(await service.sql`select from app.users where email = ${email}`).toHaveLength(1)
      const entries = await service.sql`
        select from app.audit_log a join app.users u on u.id = a.actor_user_id
         where u.email = ${email} and a.action = 'membership.accepted'`
      expect(entries).toHaveLength(1)
    }
  })

  it('creates one invitation and one working link when an address is invited ten times concurrently', async () => {
    const tenant = await newTenant()
    const [owner, second] = [await newMember(tenant), await newMember(tenant, 'admin')]
    for (const _ of rounds(15)) {
      const email = newAddress()
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, index) => invite(index % 2 === 0 ? owner : second, email)),
      )
      expect(new Set(statuses(answers))).toEqual(new Set([200]))
      expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
      await service.mail.deliver()
      expect(service.mail.to(email)).toHaveLength(1)
      expect((await accept(tokenIn(service.mail.to(email)[0]))).body.account_created).toBe(true)
    }
  })

  it('creates one user when the invitations of two tenants are accepted concurrently', async () => {
    const tenants = [await newTenant(), await newTenant()] as const
    const inviters = [await newMember(tenants[0]), await newMember(tenants[1])] as const
    for (const _ of rounds(20)) {
      const email = newAddress()
      await invite(inviters[0], email)
      await service.mail.deliver()
      await invite(inviters[1], email)
      await service.mail.deliver()
      const answers = await Promise.all(service.mail.to(email).map((message) => accept(tokenIn(message))))
      expect(statuses(answers)).toEqual([200, 200])
      expect(answers.filter(({ body }) => body.account_created)).toHaveLength(1)
      expect(await service.sql`select from app.users where email = ${email}`).toHaveLength(1)
      const live = (await membershipsOf(email)).filter((row) => row.accepted_at !== null && row.revoked_at === null)
      expect(live.map(({ tenant_id }) => tenant_id).toSorted()).toEqual(tenants.map(({ id }) => id).toSorted())
    }
  })

  it('either cancels or accepts an invitation when both happen concurrently, and both responses agree', async () => {
    const tenant = await newTenant()
    const owner = await newMember(tenant)
    const seen = new Set<string>()
    for (const _ of rounds(40)) {
      const email = newAddress()
      const { body } = await invite(owner, email)
      const token = await service.mail.tokenFor(email)
      const late = async (call: () => Promise<Answer>) => {
        await jitter(4)
        return call()
      }
      const [accepted, cancelled] = await Promise.all([late(() => accept(token)), late(() => cancel(owner, body.id))])
      seen.add(`${accepted.status} ${cancelled.status}`)
      const live = (await membershipsOf(email)).filter((row) => row.accepted_at !== null && row.revoked_at === null)
      expect([accepted.status, cancelled.status, live.length]).toEqual(
        cancelled.status === 200 ? [400, 200, 0] : [200, 404, 1],
      )
    }
    // Either request may come first.
    expect(['400 200', '200 404']).toEqual(expect.arrayContaining([...seen]))
  })

  /** Holds back a change and an acceptance, which has already read its token. Postgres lets them pass in this order. */
  async function pass(tenant: Tenant, change: () => Promise<Answer>, token: string): Promise<number[]> {
    const gate = await service.sql.reserve()
    await gate`begin`
    await gate`select from app.tenants where id = ${tenant.id} for no key update`
    const changing = change()
    await waiting(1)
    const accepting = accept(token)
    await waiting(2)
    await gate`commit`
    gate.release()
    return statuses([await changing, await accepting])
  }

  it.for([
    ['cancelled', (owner: Member, id: string) => cancel(owner, id)],
    ['replaced', async (owner: Member, _: string, email: string) => invite(owner, email)],
  ] as const)('rejects the acceptance of an invitation that is %s after its token was read', async ([, change]) => {
    const tenant = await newTenant()
    const owner = await newMember(tenant)
    const email = newAddress()
    const { body } = await invite(owner, email)
    const token = await service.mail.tokenFor(email)
    expect(await pass(tenant, () => change(owner, body.id, email), token)).toEqual([200, 400])
    expect((await membershipsOf(email)).filter((row) => row.accepted_at !== null)).toEqual([])
  })

  it('rejects the acceptance of a user who is disabled after their token was read', async () => {
    const owner = await newMember(await newTenant())
    const email = newAddress()
    await createUser(service.sql, { email })
    await invite(owner, email)
    const token = await service.mail.tokenFor(email)
    const gate = await service.sql.reserve()
    await gate`begin`
    await gate`update app.users set disabled_at = now() where email = ${email}`
    const accepting = accept(token)
    await waiting(1)
    await gate`commit`
    gate.release()
    expect((await accepting).status).toBe(400)
    expect((await membershipsOf(email)).filter((row) => row.accepted_at !== null)).toEqual([])
  })

  it('grants the new role when the role of an invitation changes after its token was read', async () => {
    const tenant = await newTenant()
    const owner = await newMember(tenant)
    const email = newAddress()
    await createUser(service.sql, { email })
    const { body } = await invite(owner, email, 'admin')
    const token = await service.mail.tokenFor(email)
    const change = () => changeRole(owner, { membershipId: body.id }, 'viewer')
    const [changed, accepted] = await pass(tenant, change, token)
    expect(changed).toBe(200)
    expect(accepted).toBeLessThan(500)
    expect((await membershipsOf(email)).map(({ role }) => role)).toEqual(['viewer'])
  })
})

describe('owners', () => {
  const ALLOWED = [200, 401, 403, 404, 409]

  it.for([
    ['demoting each other', (actor: Member, other: Member) => changeRole(actor, other, 'viewer')],
    ['removing each other', (actor: Member, other: Member) => remove(actor, other)],
    ['each demoting themselves', (actor: Member) => changeRole(actor, actor, 'admin')],
    ['each removing themselves', (actor: Member) => remove(actor, actor)],
  ] as const)('keeps one owner, without a 5xx, with two owners %s concurrently', async ([, act]) => {
    for (const _ of rounds(30)) {
      const tenant = await newTenant()
      const [first, second] = [await newMember(tenant), await newMember(tenant)]
      const answers = await Promise.all([act(first, second), act(second, first)])
      for (const { status } of answers) expect(ALLOWED).toContain(status)
      expect(statuses(answers).filter((status) => status === 200)).toHaveLength(1)
      expect(await owners(tenant)).toHaveLength(1)
    }
  })

  it('lets owners of two tenants concurrently remove each other from the tenant of the other', async () => {
    for (const _ of rounds(20)) {
      const [here, there] = [await newTenant(), await newTenant()]
      const [a, b] = [await newMember(here), await newMember(there)]
      const [aThere, bHere] = [await newMember(there, 'owner', a.email), await newMember(here, 'owner', b.email)]
      const answers = await Promise.all([remove(a, bHere), remove(b, aThere)])
      expect(statuses(answers)).toEqual([200, 200])
    }
  })

  it('returns no 5xx when an inviter is removed while the invitation is accepted', async () => {
    for (const _ of rounds(20)) {
      const tenant = await newTenant()
      const [owner, inviter] = [await newMember(tenant), await newMember(tenant, 'admin')]
      const email = newAddress()
      await invite(inviter, email)
      const token = await service.mail.tokenFor(email)
      const [accepted, removed] = await Promise.all([
        jitter(3).then(() => accept(token)),
        jitter(3).then(() => remove(owner, inviter)),
      ])
      expect(removed.status).toBe(200)
      expect([200, 400]).toContain(accepted.status)
      const live = (await membershipsOf(email)).filter((row) => row.accepted_at !== null && row.revoked_at === null)
      expect(live).toHaveLength(accepted.status === 200 ? 1 : 0)
    }
  })
})

describe('suspension', () => {
  it('leaves no live session in a tenant suspended during selections, invitations and acceptances', async () => {
    const seen = new Set<number>()
    for (const _ of rounds(20, () => seen.has(200))) {
      const tenant = await newTenant()
      const [owner, ...others] = [
        await newMember(tenant),
        await newMember(tenant, 'admin'),
        await newMember(tenant, 'sales'),
      ]
      const email = newAddress()
      await invite(owner, email)
      const token = await service.mail.tokenFor(email)
      const pending = await Promise.all(others.map((member) => mintSession(service.sql, { email: member.email })))
      const suspend = async () => {
        await jitter(6)
        await service.sql.begin(async (tx) => {
          await tx`update app.tenants set status = 'suspended', suspended_at = now() where id = ${tenant.id}`
          await tx`update app.sessions set revoked_at = now() where tenant_id = ${tenant.id} and revoked_at is null`
        })
      }
      const [answers] = await Promise.all([
        Promise.all([
          ...pending.map(async (session) => {
            await jitter(6)
            return service.request(`POST /v1/auth/tenants/${tenant.id}/select`, { token: session.token })
          }),
          jitter(6).then(() => accept(token)),
          jitter(6).then(() => invite(owner, newAddress())),
        ]),
        suspend(),
      ])
      for (const { status } of answers) seen.add(status)
      for (const [index, { token }] of pending.entries()) {
        // A selection that comes too late keeps the session, without a tenant.
        const { status } = await service.request('GET /v1/auth/session', { token })
        expect(status).toBe(answers[index]?.status === 200 ? 401 : 200)
      }
      expect(await service.sql`select from app.sessions where tenant_id = ${tenant.id} and revoked_at is null`).toEqual(
        [],
      )
    }
    for (const status of seen) expect([200, 400, 401, 404]).toContain(status)
    expect(seen).toContain(200)
  })
})
