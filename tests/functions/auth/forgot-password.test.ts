import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { group } from '#functions/api/auth/group.ts'
import { log } from '#shared/base/log.ts'
import { type Cost, startCounted } from '#tests/support/counted.ts'
import { gatewayEvent } from '#tests/support/event.ts'
import { indistinguishable } from '#tests/support/expect-answer.ts'
import { tokenIn } from '#tests/support/mail.ts'
import { createMember, createUser } from '#tests/support/minted-session.ts'
import { type Answer, startService } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const service = useService({
  env: {
    FORGOT_EMAIL_LIMIT: '1000000',
    FORGOT_IP_LIMIT: '1000000',
    INVITE_RESEND_SECONDS: '600',
    INVITE_RECIPIENT_LIMIT: '5',
  },
})
beforeAll(async () => {
  await createUser(service.sql, { email: 'known@forgot.test' })
  await createUser(service.sql, { email: 'disabled@forgot.test' })
  await service.sql`update app.users set disabled_at = now() where email = 'disabled@forgot.test'`
})

const forgot = (email: unknown, { of = service } = {}): Promise<Answer> =>
  of.request('POST /v1/auth/password/forgot', { body: { email } })

describe('POST /v1/auth/password/forgot', () => {
  it('returns the same 204 bytes for a known, unknown, disabled or malformed email when a password reset is requested', async () => {
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

  it('sends the password reset only to the stored address, in whatever case it was requested', async () => {
    await service.mail.deliver()
    for (const email of ['unknown@forgot.test', 'disabled@forgot.test']) await forgot(email)
    expect(await service.mail.deliver()).toBe(0)
    await forgot('Known@Forgot.TEST')
    expect(await service.mail.deliver()).toBe(1)
    expect(service.mail.to('known@forgot.test')[0]?.to).toBe('known@forgot.test')
  })

  it('sends a new password reset token for each request, valid for one hour', async () => {
    await forgot('known@forgot.test')
    await service.mail.deliver()
    await forgot('known@forgot.test')
    await service.mail.deliver()
    const [second, first] = service.mail.to('known@forgot.test')
    expect(tokenIn(second)).not.toBe(tokenIn(first))
    const [row] = await service.sql`
      select expires_at - now() > interval '59 minutes' and expires_at - now() <= interval '1 hour' as hour
        from app.tokens where purpose = 'password_reset' order by created_at desc limit 1`
    expect(row?.['hour']).toBe(true)
  })

  it.each(['email', 'address'])(
    'limits password resets by %s without changing the response, and logs which were dropped',
    async (by) => {
      const limited = await startService({
        env: by === 'email' ? { FORGOT_EMAIL_LIMIT: '3' } : { FORGOT_EMAIL_LIMIT: '1000', FORGOT_IP_LIMIT: '3' },
      })
      onTestFinished(() => limited.close())
      for (let index = 0; index < 5; index += 1) {
        await createUser(limited.database.admin, { email: `person${index}@limits.test` })
      }
      const answers: object[] = []
      const logged = vi.spyOn(log, 'info')
      onTestFinished(() => logged.mockRestore())
      for (let index = 0; index < 5; index += 1) {
        const email =
          by === 'email' ? ['person0@limits.test', 'PERSON0@LIMITS.TEST'][index % 2] : `person${index}@limits.test`
        answers.push(indistinguishable(await forgot(email, { of: limited })))
      }
      for (const answer of answers) expect(answer).toEqual(answers[0])
      expect(answers[0]).toMatchObject({ status: 204, text: '' })
      expect(await limited.mail.deliver()).toBe(3)
      const dropped = logged.mock.calls.flatMap(([message, fields]) =>
        message === 'mail requested' ? [fields?.['dropped_by']] : [],
      )
      const name = by === 'email' ? 'forgot-email' : 'forgot-ip'
      expect(dropped).toEqual([null, null, null, name, name])
    },
  )
})

const newIp = () => randomUUID().replace(/^(....)(....).*$/, '2001:db8:$1:$2::1')

/** Returns a function that counts the cost of a request. Each request without `sourceIp` has its own client address. */
async function counted() {
  const { ask, close } = await startCounted(service.database, group, { FORGOT_EMAIL_LIMIT: '3', FORGOT_IP_LIMIT: '4' })
  onTestFinished(close)
  return async (route: string, sent: Omit<Parameters<typeof gatewayEvent>[0], 'route'>): Promise<Cost> => {
    const { status, cost } = await ask(gatewayEvent({ route, sourceIp: newIp(), ...sent }))
    expect(status).toBe(204)
    return cost
  }
}

describe('the cost of requesting an email', () => {
  const FORGOT = 'POST /v1/auth/password/forgot'
  const RESEND = 'POST /v1/auth/verify/resend'

  it('makes the same number of statements, round trips, cache calls and invocations for every password reset request, and starts the mailer only for a mail', async () => {
    const costOf = await counted()
    const spentIp = newIp()
    const ask = (email: string, sourceIp = newIp()) => costOf(FORGOT, { body: { email }, sourceIp })
    for (let index = 0; index < 6; index += 1) {
      await ask('spent@forgot.test')
      await ask(`any${index}@forgot.test`, spentIp)
    }
    await createUser(service.sql, { email: 'counted@forgot.test' })
    const disabled = await createUser(service.sql, { email: 'counted.disabled@forgot.test' })
    await service.sql`update app.users set disabled_at = now() where id = ${disabled}`
    for (const [what, mails, email, ip] of [
      ['known', 1, 'counted@forgot.test', newIp()],
      ['unknown', 1, 'counted.unknown@forgot.test', newIp()],
      ['disabled', 1, 'counted.disabled@forgot.test', newIp()],
      ['no address', 0, 'no address', newIp()],
      ['over the limit of the recipient', 0, 'spent@forgot.test', newIp()],
      ['over the limit of the sender', 0, 'counted.fresh@forgot.test', spentIp],
      ['over both', 0, 'spent@forgot.test', spentIp],
    ] as const) {
      await service.sql`delete from app.jobs`
      expect(await ask(email, ip), what).toEqual({ statements: 3, roundTrips: 2, cache: 1, invoked: 1, started: mails })
      expect(await service.sql`select kind from app.jobs`, what).toHaveLength(mails)
    }
  })

  it('makes the same number of statements, round trips, cache calls and invocations for every request to resend a verification', async () => {
    const costOf = await counted()
    const person = await createMember(service.sql, {
      email: 'resend@forgot.test',
      slug: 'acme-print',
    })
    const headers = { authorization: `Bearer ${person.token}` }
    const costs: object[] = []
    for (let index = 0; index < 7; index += 1) costs.push(await costOf(RESEND, { headers }))
    await service.sql`update app.users set email_verified_at = now() where id = ${person.userId}`
    costs.push(await costOf(RESEND, { headers }))
    // The first requests, and the first over the limit, prepare their statements.
    for (const [index, cost] of costs.entries()) {
      const started = index < 3 ? 1 : 0
      if (index === 2 || index > 3)
        expect(cost).toEqual({ statements: 6, roundTrips: 4, cache: 1, invoked: 1, started })
    }
  })

  it('does not count requests from a client over its limit against the recipient’s limit', async () => {
    const costOf = await counted()
    await createUser(service.sql, { email: 'spared@forgot.test' })
    const spentIp = newIp()
    for (let index = 0; index < 5; index += 1) {
      await costOf(FORGOT, { body: { email: `other${index}@forgot.test` }, sourceIp: spentIp })
    }
    for (let index = 0; index < 20; index += 1) {
      await costOf(FORGOT, { body: { email: 'spared@forgot.test' }, sourceIp: spentIp })
    }
    await service.mail.deliver()
    await costOf(FORGOT, { body: { email: 'spared@forgot.test' } })
    expect(await service.mail.deliver()).toBe(1)
  })
})

describe('a password reset for an invited address without an account', () => {
  const people = service

  async function invitedTo(email: string, { aged = true } = {}) {
    const tenant = await people.newTenant('owner')
    const invite = { token: tenant.owner.token, body: { email, role: 'viewer' } }
    const { body } = await people.request('POST /v1/members/invite', invite)
    await people.mail.deliver()
    if (aged) await people.sql`update app.tokens set issued_at = issued_at - interval '1 hour' where id = ${body.id}`
    return { ...tenant, id: body.id as string }
  }
  const opens = async (email: string) =>
    (await people.request('POST /v1/auth/invitations/inspect', { body: { token: tokenIn(people.mail.to(email)[0]) } }))
      .status
  /** Asks for a reset and delivers. Returns how many mails the address has. */
  const mailsAfter = async (email: string, asked = email): Promise<number> => {
    expect((await forgot(asked)).status).toBe(204)
    await people.mail.deliver()
    return people.mail.to(email).length
  }

  it('mails the open invitation again, with a link that works, at most once in INVITE_RESEND_SECONDS', async () => {
    const email = `invited-${randomUUID()}@forgot.test`
    await invitedTo(email)
    expect(await mailsAfter(email, email.toUpperCase())).toBe(2)
    expect(people.mail.to(email)[0]?.subject).toContain('invited to')
    expect(await opens(email)).toBe(200)
    expect(await mailsAfter(email)).toBe(2)
  })

  it('mails nothing within INVITE_RESEND_SECONDS of the invitation, nor when it expired, bounced, was cancelled or its shop is closed', async () => {
    const fresh = `fresh-${randomUUID()}@forgot.test`
    await invitedTo(fresh, { aged: false })
    expect(await mailsAfter(fresh)).toBe(1)
    for (const [why, change] of [
      [
        'expired',
        (id: string) => people.sql`update app.tokens set expires_at = now() - interval '1 second' where id = ${id}`,
      ],
      ['bounced', (id: string) => people.sql`update app.tokens set bounced_at = now() where id = ${id}`],
      ['cancelled', (id: string) => people.sql`delete from app.tokens where id = ${id}`],
      [
        'closed',
        (id: string) =>
          people.sql`update app.tenants t set status = 'suspended' from app.tokens i where i.id = ${id} and t.id = i.tenant_id`,
      ],
    ] as const) {
      const email = `${why}-${randomUUID()}@forgot.test`
      const { id } = await invitedTo(email)
      await change(id)
      expect(await mailsAfter(email), why).toBe(1)
    }
  })

  it('counts against the daily limit of the recipient', async () => {
    const email = `limited-${randomUUID()}@forgot.test`
    for (let round = 0; round < 5; round += 1) await invitedTo(email)
    expect(people.mail.to(email)).toHaveLength(5)
    expect(await mailsAfter(email)).toBe(5)
  })

  it('shows the tenant nothing: not in the invitation, the audit log or the time of a resend', async () => {
    const email = `secret-${randomUUID()}@forgot.test`
    const { owner, id } = await invitedTo(email)
    const seen = async () => [
      (await people.request('GET /v1/members/invitations', { token: owner.token })).body,
      (await people.request('GET /v1/audit-log', { token: owner.token })).body,
    ]
    const before = await seen()
    expect(await mailsAfter(email)).toBe(2)
    expect(await seen()).toEqual(before)
    expect((await people.request(`POST /v1/members/invitations/${id}/resend`, { token: owner.token })).status).toBe(200)
  })

  it('mails a reset and no invitation to an invited address with an account', async () => {
    const email = `account-${randomUUID()}@forgot.test`
    await createUser(people.sql, { email })
    await invitedTo(email)
    expect(await mailsAfter(email)).toBe(2)
    expect(people.mail.to(email)[0]?.subject).toBe('Set a new password')
  })
})
