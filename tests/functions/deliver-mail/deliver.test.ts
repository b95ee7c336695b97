import { randomUUID } from 'node:crypto'
import { SESv2Client } from '@aws-sdk/client-sesv2'
import { afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { deliverDueMail } from '#functions/workers/deliver-mail/deliver.ts'
import { json, startHttpServer } from '#infra/local/http-server.ts'
import type { Message } from '#infra/local/mail/kept-email.ts'
import type { Database } from '#shared/db/connect.ts'
import type { SqlValue } from '#shared/db/run.ts'
import { reserveSend } from '#functions/workers/deliver-mail/queries.ts'
import { claimJobs, enqueue } from '#shared/queue/queries.ts'
import { type Mailer, tokenIn } from '#tests/support/mail.ts'
import { createUser, mintSession, tenantId } from '#tests/support/minted-session.ts'
import { proofFor } from '#tests/support/proof.ts'
import { useService } from '#tests/support/test.ts'

const LEASE_SECONDS = 90

const service = useService({ env: { INVITE_TENANT_LIMIT: '1000000', FORGOT_EMAIL_LIMIT: '100' } })
let owner: string
let acme: string
beforeAll(async () => {
  owner = (await mintSession(service.sql, { email: 'owner@acme.test', slug: 'acme-print' })).token
  acme = await tenantId(service.sql, 'acme-print')
})
afterEach(async () => {
  await service.mail.faults.set({ part: 'ses', mode: 'ok' })
  Object.assign(service.mail.quota, { perDay: 1_000_000, perSecond: 10_000, paused: false })
  await service.sql`delete from app.jobs`
})

let people = 0
const newAddress = (): string => `invited${(people += 1)}@mail.test`

/** Sends an invitation and expects 200. */
async function invite(email = newAddress(), role = 'viewer'): Promise<{ email: string; id: string }> {
  const { status, body } = await service.request('POST /v1/members/invite', { token: owner, body: { email, role } })
  expect(status).toBe(200)
  return { email, id: body.id }
}

// One after the other: invitations of one tenant wait for each other's lock.
const inviteMany = async (count: number) => {
  const invited: Awaited<ReturnType<typeof invite>>[] = []
  for (let index = 0; index < count; index += 1) invited.push(await invite())
  return invited
}

/** Makes retries due and expires the leases of dead workers. */
const passTime = () => service.sql`
  update app.jobs set run_at = least(run_at, now()),
         leased_until = case when leased_until is not null then now() - interval '1 second' end
   where completed_at is null and dead_at is null`

const jobs = () =>
  service.sql<
    { completed_at: Date | null; dead_at: Date | null; attempts: number; last_error: string | null; run_at: Date }[]
  >`select * from app.jobs where kind = 'mail' order by created_at`

/** Returns the time of the database in milliseconds. */
const clock = async (): Promise<number> =>
  (await service.sql<{ at: Date }[]>`select clock_timestamp() as at`)[0]?.at.getTime() ?? Number.NaN

const mailbox = (email: string): Message[] => service.mail.to(email)

/** Returns a worker that hangs at the first statement that contains `text`. */
function workerDyingAt(text: string): Mailer {
  const { database } = service.mail.mailer
  const { sql } = database
  const dying = <Row extends object>(parts: TemplateStringsArray, ...values: readonly SqlValue[]) =>
    parts.join('?').includes(text) ? new Promise<never>(() => {}) : sql<Row>(parts, ...values)
  const wrapped: Database = { ...database, sql: Object.assign(dying, { invoking: sql.invoking }) }
  return { ...service.mail.mailer, database: wrapped }
}

const opensInvitation = async (message: Message | undefined): Promise<number> =>
  (await service.request('POST /v1/auth/invitations/inspect', { body: { token: tokenIn(message) } })).status

describe('a mailer that dies', () => {
  it('delivers every email that a dead mailer had only claimed', async () => {
    const invited = await inviteMany(10)
    await claimJobs(service.mail.mailer.database.sql, {
      kind: 'mail',
      most: 10,
      leaseSeconds: LEASE_SECONDS,
      attempts: null,
    })
    expect(await service.mail.deliver()).toBe(0)
    await passTime()
    expect(await service.mail.deliver()).toBe(10)
    for (const { email } of invited) expect(mailbox(email)).toHaveLength(1)
  })

  it('sends an email again with the same working link when the mailer died before it completed the job', async () => {
    const invited = await inviteMany(10)
    void deliverDueMail(workerDyingAt(', null, null) as ended'), service.mail.ses, () => false)
    await vi.waitUntil(() => invited.every(({ email }) => mailbox(email).length === 1), { timeout: 5000 })
    expect(await service.mail.deliver()).toBe(0)
    await passTime()
    expect(await service.mail.deliver()).toBe(10)
    for (const { email } of invited) {
      const [second, first] = mailbox(email)
      expect(mailbox(email)).toHaveLength(2)
      expect(tokenIn(second)).toBe(tokenIn(first))
      expect(second).toMatchObject({ subject: first?.subject, text: first?.text, html: first?.html })
      expect(await opensInvitation(second)).toBe(200)
    }
  })

  it('loses no invitation email when mailers die at any step', async () => {
    const invited = await inviteMany(30)
    // Workers die in turns: with claimed jobs, with some emails sent, with all sent and none completed.
    for (let round = 0; round < 5; round += 1) {
      const worker = workerDyingAt(', null, null) as ended')
      if (round % 2 === 0)
        await claimJobs(worker.database.sql, { kind: 'mail', most: 10, leaseSeconds: 90, attempts: null })
      else {
        await service.mail.faults.set({ part: 'ses', mode: 'refuse', share: 0.5 })
        void deliverDueMail(worker, service.mail.ses, () => false)
        await vi.waitUntil(async () =>
          (await jobs()).some(({ last_error, attempts }) => last_error !== null && attempts > 0),
        )
      }
      await passTime()
    }
    await service.mail.faults.set({ part: 'ses', mode: 'ok' })
    // A worker that still runs may return a job for a retry.
    await vi.waitUntil(
      async () => {
        await passTime()
        await service.mail.deliver()
        return (await jobs()).every(({ completed_at }) => completed_at !== null)
      },
      { timeout: 10_000 },
    )
    for (const { email } of invited) {
      const links = new Set(mailbox(email).map(tokenIn))
      expect(links.size).toBe(1)
      expect(await opensInvitation(mailbox(email)[0])).toBe(200)
    }
    expect((await jobs()).filter(({ completed_at }) => completed_at === null)).toEqual([])
  })

  it('reuses the one password reset token when the email is sent again', async () => {
    await createUser(service.sql, { email: 'forgetful@mail.test' })
    const body = { email: 'forgetful@mail.test' }
    expect((await service.request('POST /v1/auth/password/forgot', { body })).status).toBe(204)
    void deliverDueMail(workerDyingAt(', null, null) as ended'), service.mail.ses, () => false)
    await vi.waitUntil(() => mailbox(body.email).length === 1, { timeout: 5000 })
    await passTime()
    expect(await service.mail.deliver()).toBe(1)
    expect(new Set(mailbox(body.email).map(tokenIn)).size).toBe(1)
    const tokens = await service.sql`
      select from app.tokens t join app.users u on u.id = t.user_id where u.email = ${body.email}`
    expect(tokens).toHaveLength(1)
  })

  it('completes a job whose lease expired while its mailer is still alive', async () => {
    const { email } = await invite()
    await Promise.all([
      service.mail.deliver(),
      ...Array.from({ length: 4 }, async () => {
        await passTime()
        return service.mail.deliver()
      }),
    ])
    await passTime()
    await service.mail.deliver()
    expect(mailbox(email).length).toBeGreaterThan(0)
    expect(new Set(mailbox(email).map(tokenIn)).size).toBe(1)
    expect(await jobs()).toMatchObject([{ completed_at: expect.any(Date), dead_at: null }])
  })
})

describe('invitation emails', () => {
  it('sends no email for an invitation that is rolled back', async () => {
    const { admin } = service.database
    const email = newAddress()
    // The request writes its audit entry last, after the job.
    await admin`
      alter table app.audit_log add constraint refused check (action <> 'invitation.created') not valid`
    try {
      const { status } = await service.request('POST /v1/members/invite', {
        token: owner,
        body: { email, role: 'viewer' },
      })
      expect(status).toBe(500)
    } finally {
      await admin`alter table app.audit_log drop constraint refused`
    }
    expect(await jobs()).toEqual([])
    expect(await service.mail.deliver()).toBe(0)
    expect(mailbox(email)).toEqual([])
  })

  it('sends no email for an invitation that was cancelled before delivery', async () => {
    const { email, id } = await invite()
    expect((await service.request(`DELETE /v1/members/invitations/${id}`, { token: owner })).status).toBe(200)
    expect(await service.mail.deliver()).toBe(0)
    expect(mailbox(email)).toEqual([])
    expect(await jobs()).toMatchObject([{ completed_at: expect.any(Date), dead_at: null }])
  })

  it('sends one email with the working link for an invitation that was replaced before delivery', async () => {
    const { email, id } = await invite()
    await invite(email, 'sales')
    expect((await service.request(`POST /v1/members/invitations/${id}/resend`, { token: owner })).status).toBe(200)
    expect(await service.mail.deliver()).toBe(1)
    expect(mailbox(email)).toHaveLength(1)
    expect(mailbox(email)[0]?.text).toContain('Your role will be: Sales.')
    expect(await opensInvitation(mailbox(email)[0])).toBe(200)
  })

  it('sends no email for an invitation that expired before delivery', async () => {
    const { email, id } = await invite()
    await service.sql`update app.tokens set expires_at = now() - interval '1 second' where id = ${id}`
    expect(await service.mail.deliver()).toBe(0)
    expect(mailbox(email)).toEqual([])
  })

  it('sends no invitation of one tenant for a job of another tenant', async () => {
    const { email, id } = await invite()
    const bolt = await tenantId(service.sql, 'bolt-apparel')
    await service.sql`update app.jobs set tenant_id = ${bolt} where payload ->> 'invitation_id' = ${id}`
    await service.mail.deliver()
    expect(mailbox(email)).toEqual([])
  })
})

describe('SES failures', () => {
  it('sends each email exactly once while SES refuses a quarter of the calls', async () => {
    const invited = await inviteMany(40)
    await service.mail.faults.set({ part: 'ses', mode: 'refuse', share: 0.25 })
    let sent = 0
    for (let pass = 0; pass < 12 && sent < 40; pass += 1) {
      sent += await service.mail.deliver()
      await passTime()
    }
    expect(sent).toBe(40)
    for (const { email } of invited) expect(mailbox(email)).toHaveLength(1)
    expect((await jobs()).filter(({ completed_at }) => completed_at === null)).toEqual([])
  })

  it('backs off exponentially while SES is down and delivers when it is back', async () => {
    const invited = await inviteMany(5)
    await service.mail.faults.set({ part: 'ses', mode: 'refuse' })
    for (let attempts = 1; attempts <= 4; attempts += 1) {
      const before = await clock()
      expect(await service.mail.deliver()).toBe(0)
      const after = await clock()
      for (const job of await jobs()) {
        expect(job).toMatchObject({ attempts, completed_at: null, dead_at: null, last_error: expect.any(String) })
        expect(job.run_at.getTime()).toBeGreaterThanOrEqual(before + 2 ** attempts * 500)
        expect(job.run_at.getTime()).toBeLessThanOrEqual(after + 2 ** attempts * 1000)
      }
      await passTime()
    }
    await service.mail.faults.set({ part: 'ses', mode: 'ok' })
    expect(await service.mail.deliver()).toBe(5)
    for (const { email } of invited) expect(mailbox(email)).toHaveLength(1)
  })

  it('gives up a call to a hanging SES and delivers the email later', async () => {
    const { email } = await invite()
    await service.mail.faults.set({ part: 'ses', mode: 'hang' })
    const timeout = vi.spyOn(AbortSignal, 'timeout')
    timeout.mockReturnValueOnce(AbortSignal.abort())
    expect(await service.mail.deliver()).toBe(0)
    expect(timeout.mock.calls).toEqual([[5000]])
    timeout.mockRestore()
    expect(await jobs()).toMatchObject([{ attempts: 1, completed_at: null, dead_at: null }])
    await service.mail.faults.set({ part: 'ses', mode: 'ok' })
    await passTime()
    expect(await service.mail.deliver()).toBe(1)
    expect(mailbox(email)).toHaveLength(1)
  })

  it('tries an invitation again for as long as it is open, however often SES failed, and then dead-letters it', async () => {
    const { email, id } = await invite()
    await service.sql`update app.jobs set attempts = 500, created_at = now() - interval '6 days'`
    await service.mail.faults.set({ part: 'ses', mode: 'refuse' })
    expect(await service.mail.deliver()).toBe(0)
    expect(await jobs()).toMatchObject([{ attempts: 501, dead_at: null }])
    await service.sql`update app.tokens set expires_at = now() - interval '1 second' where id = ${id}`
    await passTime()
    expect(await service.mail.deliver()).toBe(0)
    expect(await jobs()).toMatchObject([{ dead_at: expect.any(Date), last_error: 'Expired' }])
    expect(mailbox(email)).toEqual([])
  })

  it.for([
    ['password-reset', '59 minutes', '61 minutes'],
    ['email-verification', '23 hours', '25 hours'],
    ['password-changed', '6 days', '8 days'],
  ] as const)('sends a late email until its link would have expired: %s', async ([template, inTime, tooLate]) => {
    const email = newAddress()
    const id = await createUser(service.sql, { email })
    await service.sql`update app.users set email_verified_at = null where id = ${id}`
    const { sql } = service.runtime.database
    const payloads = {
      'password-reset': { template: 'password-reset', email, nonce: 'n'.repeat(22) },
      'email-verification': { template: 'email-verification', user_id: id, nonce: 'n'.repeat(22) },
      'password-changed': { template: 'password-changed', user_id: id },
    } as const
    for (const age of [tooLate, inTime]) {
      await enqueue(sql, 'mail', payloads[template])
      await service.sql`update app.jobs set created_at = now() - ${age}::text::interval where completed_at is null and dead_at is null`
      expect(await service.mail.deliver()).toBe(age === inTime ? 1 : 0)
    }
    expect(mailbox(email)).toHaveLength(1)
    expect((await jobs()).map(({ last_error }) => last_error)).toEqual(['Expired', null])
  })

  it.for([
    ['paused', { paused: true }],
    ['over the quota of the day', { perDay: 0 }],
  ] as const)(
    'keeps emails due and tries none while the account is %s, and sends them afterwards',
    async ([, quota]) => {
      const invited = await inviteMany(3)
      Object.assign(service.mail.quota, quota)
      const ses = new SESv2Client({
        endpoint: service.mail.sesUrl,
        region: 'us-east-1',
        credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
        maxAttempts: 1,
      })
      onTestFinished(() => ses.destroy())
      expect(await deliverDueMail(service.mail.mailer, ses, () => false)).toBe(0)
      for (const job of await jobs()) expect(job).toMatchObject({ attempts: 0, dead_at: null, last_error: null })
      Object.assign(service.mail.quota, { perDay: 1_000_000, paused: false })
      expect(await deliverDueMail(service.mail.mailer, ses, () => false)).toBe(3)
      for (const { email } of invited) expect(mailbox(email)).toHaveLength(1)
    },
  )

  it.for([
    ['MessageRejected', 400, 'dead'],
    ['BadRequestException', 400, 'dead'],
    ['TooManyRequestsException', 429, 'blocked'],
    ['SendingPausedException', 400, 'blocked'],
    ['LimitExceededException', 400, 'blocked'],
    ['AccessDeniedException', 403, 'blocked'],
    ['InternalServiceErrorException', 500, 'retried'],
  ] as const)(
    'after %s from SES dead-letters the email, tries it later, or counts no attempt: %s %s',
    async ([type, status, then]) => {
      const server = await startHttpServer({
        answer: () => json(status, { message: type }, { 'x-amzn-errortype': type }),
      })
      onTestFinished(() => server.close())
      const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
      const ses = new SESv2Client({ endpoint: server.url, region: 'us-east-1', credentials, maxAttempts: 1 })
      onTestFinished(() => ses.destroy())
      await invite()
      expect(await deliverDueMail(service.mail.mailer, ses, () => false)).toBe(0)
      const [job] = await jobs()
      expect(job).toMatchObject({ attempts: then === 'blocked' ? 0 : 1, completed_at: null, last_error: type })
      expect(job?.dead_at !== null).toBe(then === 'dead')
      const due =
        await service.sql`select from app.jobs where run_at <= now() and leased_until is null and dead_at is null`
      expect(due).toHaveLength(then === 'blocked' ? 1 : 0)
    },
  )
})

describe('the rate of the account', () => {
  it('is shared by all mailers: each email gets a time of its own', async () => {
    const { sql } = service.mail.mailer.database
    await service.sql`update app.mail_pace set next_at = '-infinity'`
    const before = await clock()
    await Promise.all(Array.from({ length: 20 }, () => reserveSend(sql, 10)))
    const [pace] = await service.sql<{ next_at: Date }[]>`select next_at from app.mail_pace`
    // A timestamp has microseconds, and a Date cuts them off.
    expect((pace?.next_at.getTime() ?? 0) - before).toBeGreaterThanOrEqual(1999)
  })

  it('delays an email until its time', async () => {
    const { email } = await invite()
    await service.sql`update app.mail_pace set next_at = clock_timestamp() + interval '300 ms'`
    const [pace] = await service.sql<{ next_at: Date }[]>`select next_at from app.mail_pace`
    expect(await service.mail.deliver()).toBe(1)
    expect(Date.parse(mailbox(email)[0]?.received_at ?? '')).toBeGreaterThanOrEqual((pace?.next_at.getTime() ?? 0) - 1)
  })
})

describe('jobs that no mailer can read', () => {
  const poison = (payload: object) =>
    service.runtime.database.write(async (sql) => {
      await proofFor(service.sql, acme).enter(sql)
      await sql`select app.enqueue('mail', ${JSON.stringify(payload)}::text::jsonb)`
    })

  it.for([
    [{}],
    [{ template: 'unknown' }],
    [{ template: 'invitation', invitation_id: 'no id', nonce: 'x'.repeat(22) }],
    [{ template: 'invitation', invitation_id: '00000000-0000-4000-8000-000000000000' }],
  ])('dead-letters an unreadable job immediately and delivers the emails behind it: %j', async ([payload = {}]) => {
    for (let count = 0; count < 12; count += 1) await poison(payload)
    const { email } = await invite()
    expect(await service.mail.deliver()).toBe(1)
    expect(mailbox(email)).toHaveLength(1)
    const dead = (await jobs()).filter(({ dead_at }) => dead_at !== null)
    expect(dead).toHaveLength(12)
    for (const job of dead) expect(job).toMatchObject({ attempts: 1, last_error: 'UnreadableJob' })
  })

  it('dead-letters a job without a tenant whose email needs one', async () => {
    await enqueue(service.runtime.database.sql, 'mail', { template: 'membership-added', user_id: randomUUID() })
    expect(await service.mail.deliver()).toBe(0)
    expect(await jobs()).toMatchObject([{ attempts: 1, dead_at: expect.any(Date), last_error: 'UnreadableJob' }])
  })

  it('dead-letters jobs that killed twelve mailers in a row without delaying others, even when they fill a whole claim', async () => {
    for (let count = 0; count < 10; count += 1) await poison({ template: 'unknown' })
    await service.sql`
      update app.jobs set lost_leases = 11, run_at = now() - interval '1 hour',
             lease_token = gen_random_uuid(), leased_until = now() - interval '1 second'`
    const { email } = await invite()
    expect(await service.mail.deliver()).toBe(1)
    expect(mailbox(email)).toHaveLength(1)
    expect((await jobs()).filter(({ dead_at }) => dead_at !== null)).toHaveLength(10)
  })
})

describe('concurrent mailers', () => {
  it('sends each email once with three concurrent mailers', async () => {
    const invited = await inviteMany(60)
    const sent = await Promise.all([service.mail.deliver(), service.mail.deliver(), service.mail.deliver()])
    expect(sent.reduce((sum, count) => sum + count, 0)).toBe(60)
    for (const { email } of invited) expect(mailbox(email)).toHaveLength(1)
  })
})
