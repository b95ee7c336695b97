import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { operate } from '#functions/workers/operate/operate.ts'
import { recordBounces } from '#functions/workers/record-bounces/record-bounces.ts'
import { queueEvent } from '#infra/local/aws/lambda.ts'
import { connectTo } from '#tests/support/access.ts'
import { expectProblem } from '#tests/support/expect-answer.ts'
import { createUser } from '#tests/support/minted-session.ts'
import { INSTRUCTION } from '#tests/support/operator.ts'
import { MAIL_KEY, PEPPER } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const service = useService({ env: { INVITE_RESEND_SECONDS: '0' } })
beforeEach(() => service.sql`delete from app.jobs`)

interface Mailed {
  readonly id: string
  readonly email: string
  readonly job: string
}

const newAddress = (): string => `${randomUUID()}@mail.test`
const invite = (token: string, email = newAddress()) =>
  service.request('POST /v1/members/invite', { token, body: { email, role: 'viewer' } })

/** Invites so many people, and lets the mails leave. */
async function mail(token: string, many: number): Promise<Mailed[]> {
  const invited = await Promise.all(
    Array.from({ length: many }, async () => {
      const email = newAddress()
      const { status, body } = await invite(token, email)
      expect(status).toBe(200)
      const [job] = await service.sql`select id from app.jobs where payload ->> 'invitation_id' = ${body.id}`
      return { id: String(body.id), email, job: String(job?.['id']) }
    }),
  )
  expect(await service.mail.deliver()).toBe(many)
  return invited
}

const bounceOf = ({ job, email }: Pick<Mailed, 'job' | 'email'>, bounceSubType = 'General') => ({
  eventType: 'Bounce',
  mail: { tags: { job: [job] } },
  bounce: { bounceType: 'Permanent', bounceSubType, bouncedRecipients: [{ emailAddress: email }] },
})
const complaintOf = ({ job, email }: Mailed) => ({
  eventType: 'Complaint',
  mail: { tags: { job: [job] } },
  complaint: { complaintFeedbackType: 'abuse', complainedRecipients: [{ emailAddress: email }] },
})
const report = (...events: object[]) => recordBounces(service.worker, queueEvent(...events))

const stopsOf = (tenantId: string) =>
  service.sql`select action from app.audit_log where tenant_id = ${tenantId} and action ~ 'invitations_' order by occurred_at`

const runOperator = async (command: Parameters<typeof operate>[1]) => {
  const invoked = async () => {}
  const invocations = new Map([['deliver-mail', invoked] as const, ['publish-events', invoked] as const])
  const database = connectTo(service.database.operatorUrl, { connections: 1, prepare: true }, invocations)
  onTestFinished(() => database.close())
  return operate({ config: service.runtime.config, database, pepper: PEPPER, mailKey: MAIL_KEY }, command, INSTRUCTION)
}

describe('five of the invitations of a tenant that came back, and more than a tenth,', () => {
  it('stop its invitations, also those in the queue and of complaints, and nothing else', async () => {
    const { id, slug, owner } = await service.newTenant('owner')
    const mailed = await mail(owner.token, 5)
    const [first, second, ...others] = mailed
    if (first === undefined || second === undefined) throw new Error('nothing was mailed')
    await service.request(`DELETE /v1/members/invitations/${second.id}`, { token: owner.token })
    await report(complaintOf(first), bounceOf(second), ...others.slice(1).map((each) => bounceOf(each)))
    const waiting = newAddress()
    expect((await invite(owner.token, waiting)).status).toBe(200)
    await report(...others.slice(0, 1).map((each) => bounceOf(each)))
    expectProblem(await invite(owner.token), 'invitations-stopped')
    const resend = await service.request(`POST /v1/members/invitations/${first.id}/resend`, { token: owner.token })
    expectProblem(resend, 'invitations-stopped')
    expect(await service.mail.deliver()).toBe(0)
    expect(service.mail.to(waiting)).toEqual([])
    expect(await stopsOf(id)).toEqual([{ action: 'tenant.invitations_stopped' }])

    const other = await service.newTenant('owner')
    await mail(other.owner.token, 1)
    const member = newAddress()
    await createUser(service.sql, { email: member, slugs: [slug] })
    await service.request('POST /v1/auth/password/forgot', { body: { email: member } })
    expect(await service.mail.deliver()).toBe(1)
    await service.sql`update app.users set disabled_at = now() where id in (select user_id from app.memberships where tenant_id = ${id})`
    const email = newAddress()
    expect(await runOperator({ command: 'invite-owner', slug, email })).toMatchObject({ done: { owner: email } })
    expect(await service.mail.deliver()).toBe(1)
    expect(service.mail.to(email)).toHaveLength(1)
  })

  it('stop them once, when the last two are reported at the same time, and all of them again', async () => {
    const { id, owner } = await service.newTenant('owner')
    const mailed = await mail(owner.token, 5)
    const [first, second, ...others] = mailed
    if (first === undefined || second === undefined) throw new Error('nothing was mailed')
    await report(...others.map((each) => bounceOf(each)))
    let reported: Promise<unknown> = Promise.resolve()
    await service.sql.begin(async (tx) => {
      await tx`select app.record_bounce(${first.job}, ${first.email}, 'bounce')`
      let done = false
      reported = report(bounceOf(second)).finally(() => (done = true))
      const waiting = () =>
        service.sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      await expect.poll(async () => done || (await waiting()).length > 0, { timeout: 10_000 }).toBe(true)
    })
    await reported
    await Promise.all(mailed.map((each) => report(bounceOf(each))))
    expect(await stopsOf(id)).toEqual([{ action: 'tenant.invitations_stopped' }])
    expectProblem(await invite(owner.token), 'invitations-stopped')
  })

  it('no longer stop them once an operator allows them, and do not count again', async () => {
    const { id, slug, owner } = await service.newTenant('owner')
    await report(...(await mail(owner.token, 5)).map((each) => bounceOf(each)))
    expectProblem(await invite(owner.token), 'invitations-stopped')
    expect(await runOperator({ command: 'allow-invitations', slug })).toMatchObject({ done: { allowed: true } })
    expect(await runOperator({ command: 'allow-invitations', slug })).toMatchObject({ done: { allowed: false } })
    await report(...(await mail(owner.token, 4)).map((each) => bounceOf(each)))
    expect(await stopsOf(id)).toEqual([
      { action: 'tenant.invitations_stopped' },
      { action: 'tenant.invitations_allowed' },
    ])
    await report(...(await mail(owner.token, 1)).map((each) => bounceOf(each)))
    expectProblem(await invite(owner.token), 'invitations-stopped')
  })
})

describe('the invitations of a tenant go on', () => {
  it.each([
    ['after four that came back', 4, 0, {}],
    ['after five of fifty', 5, 45, {}],
    ['after five that are older than a week', 5, 0, { age: '8 days' }],
    ['after five that SES did not try, because the address bounced before', 5, 0, { cause: 'Suppressed' }],
    ['after reports about other addresses', 5, 0, { to: 'another@mail.test' }],
  ])('%s', async (_, bounced, good, { age = '0', cause, to }: { age?: string; cause?: string; to?: string }) => {
    const { id, owner } = await service.newTenant('owner')
    const mailed = await mail(owner.token, bounced)
    await service.sql`
      insert into app.jobs (tenant_id, kind, payload, idempotency_key, mailed_to)
      select ${id}, 'mail', '{"template":"invitation"}', n::text, sha256('x') from generate_series(1, ${good}::int) n`
    await service.sql`update app.jobs set created_at = now() - ${age}::text::interval`
    await report(...mailed.map((each) => bounceOf({ ...each, email: to ?? each.email }, cause)))
    expect((await invite(owner.token)).status).toBe(200)
    expect(await stopsOf(id)).toEqual([])
  })
})
