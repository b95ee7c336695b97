import { randomUUID } from 'node:crypto'
import { SESv2Client } from '@aws-sdk/client-sesv2'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { operate } from '#functions/workers/operate/operate.ts'
import { unsuppress } from '#functions/workers/operate/unsuppress.ts'
import { recordBounces } from '#functions/workers/record-bounces/record-bounces.ts'
import { queueEvent } from '#infra/local/aws/lambda.ts'
import { connectTo } from '#tests/support/access.ts'
import { createUser } from '#tests/support/minted-session.ts'
import { INSTRUCTION } from '#tests/support/operator.ts'
import { MAIL_KEY, PEPPER } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const service = useService({ env: { INVITE_RESEND_SECONDS: '0' } })
beforeEach(() => service.sql`delete from app.jobs`)

let people = 0
const newAddress = (): string => `bounced${(people += 1)}@mail.test`

const invite = async (token: string, email: string): Promise<string> => {
  const { status, body } = await service.request('POST /v1/members/invite', { token, body: { email, role: 'viewer' } })
  expect(status).toBe(200)
  return body.id
}
const invitationOf = async (token: string, email: string): Promise<any> => {
  const { body } = await service.request('GET /v1/members/invitations', { token })
  return body.data.find((each: any) => each.email === email)
}
const entriesOf = (targetId: string) =>
  service.sql`select tenant_id, action, after from app.audit_log
               where target_id = ${targetId} and action ~ 'bounce' order by occurred_at, tenant_id`
const jobOf = async (): Promise<string> =>
  (await service.sql`select id from app.jobs order by created_at desc`)[0]?.['id']

/** An event of SES about the mail of a job. */
const eventOf = (job: string, emailAddress: string, change: Record<string, any> = {}): object => ({
  eventType: 'Bounce',
  mail: { messageId: randomUUID(), source: 'no-reply@tenantry.example', tags: { job: [job] } },
  bounce: { bounceType: 'Permanent', bounceSubType: 'General', bouncedRecipients: [{ emailAddress }] },
  ...change,
})
const complaint = (emailAddress: string, complaintFeedbackType: string | null) => ({
  eventType: 'Complaint',
  complaint: { complaintFeedbackType, complainedRecipients: [{ emailAddress }] },
})
const report = (...events: object[]) => recordBounces(service.worker, queueEvent(...events))

describe('a bounce', () => {
  it('marks the invitation in its tenant alone, in the list and the audit log, and stops further mail to it', async () => {
    const [{ id: tenantId, owner }, other] = [await service.newTenant('owner'), await service.newTenant('owner')]
    const email = `bounce+${randomUUID()}@simulator.amazonses.com`
    const id = await invite(owner.token, email)
    const elsewhere = await invite(other.owner.token, email)
    expect(await service.mail.deliver()).toBe(2)
    expect((await invitationOf(owner.token, email)).bounced_at).toBeNull()
    const first = service.mail.events.find((event) => JSON.stringify(event).includes(email))
    await report(first ?? {})
    const marked = await service.sql`select id from app.tokens where email = ${email} and bounced_at is not null`
    expect(marked).toHaveLength(1)
    const here = marked[0]?.['id'] === id
    const token = here ? owner.token : other.owner.token
    expect((await invitationOf(token, email)).bounced_at).toMatch(/Z$/)
    expect(await entriesOf(here ? id : elsewhere)).toEqual([
      { tenant_id: here ? tenantId : other.id, action: 'invitation.bounced', after: { cause: 'bounce' } },
    ])
    expect(await entriesOf(here ? elsewhere : id)).toEqual([])
    const sent = service.mail.to(email).length
    await service.request(`POST /v1/members/invitations/${here ? id : elsewhere}/resend`, { token })
    expect(await service.mail.deliver()).toBe(0)
    expect(service.mail.to(email)).toHaveLength(sent)
  })

  it('marks the user of the address, in the audit log of each of their tenants, and stops every mail to them', async () => {
    const [one, two] = [await service.newTenant('owner'), await service.newTenant('owner')]
    const email = newAddress()
    const user = await createUser(service.sql, { email, slugs: [one.slug, two.slug] })
    const forgot = () => service.request('POST /v1/auth/password/forgot', { body: { email } })
    await forgot()
    expect(await service.mail.deliver()).toBe(1)
    await report(eventOf(await jobOf(), email))
    const tenants = [one.id, two.id].toSorted()
    expect((await entriesOf(user)).map((entry) => String(entry['tenant_id'])).toSorted()).toEqual(tenants)
    expect((await forgot()).status).toBe(204)
    expect(await service.mail.deliver()).toBe(0)
    // An invitation is not sent either, and looks as if SES had refused the address.
    const inviting = await service.newTenant('owner')
    const id = await invite(inviting.owner.token, email)
    expect(await service.mail.deliver()).toBe(0)
    expect((await invitationOf(inviting.owner.token, email)).bounced_at).toMatch(/Z$/)
    expect(await entriesOf(id)).toMatchObject([{ action: 'invitation.bounced', after: { cause: 'suppressed' } }])
    expect(await entriesOf(user)).toHaveLength(2)
  })

  it.each([
    ['a complaint', (job: string, email: string) => eventOf(job, email, complaint(email, 'abuse'))],
    ['a bounce', (job: string, email: string) => eventOf(job, email)],
  ])(
    'of an invitation, %s, ends no password reset of the person, and stops the invitations of every tenant',
    async (_, event) => {
      const [one, two] = [await service.newTenant('owner'), await service.newTenant('owner')]
      const email = newAddress()
      const user = await createUser(service.sql, { email, slugs: [one.slug] })
      const id = await invite(two.owner.token, email)
      await report(event(await jobOf(), email))
      expect(await entriesOf(id)).toMatchObject([{ action: 'invitation.bounced' }])
      expect(await entriesOf(user)).toEqual([])
      await service.sql`delete from app.jobs where completed_at is null`
      expect((await service.request('POST /v1/auth/password/forgot', { body: { email } })).status).toBe(204)
      expect(await service.mail.deliver()).toBe(1)
      expect(service.mail.to(email)[0]?.subject).toBe('Set a new password')
      const three = await service.newTenant('owner')
      await invite(three.owner.token, email)
      expect(await service.mail.deliver()).toBe(0)
      expect((await invitationOf(three.owner.token, email)).bounced_at).toMatch(/Z$/)
    },
  )

  it('is recorded once, however often and concurrently it is reported', async () => {
    const { owner } = await service.newTenant('owner')
    const email = newAddress()
    const id = await invite(owner.token, email)
    const event = eventOf(await jobOf(), email)
    await Promise.all(Array.from({ length: 4 }, () => report(event, event)))
    const { bounced_at } = await invitationOf(owner.token, email)
    await report(event, eventOf(await jobOf(), email, complaint(email, 'abuse')))
    expect((await invitationOf(owner.token, email)).bounced_at).toBe(bounced_at)
    expect(await entriesOf(id)).toHaveLength(1)
  })

  it.each<[string, (job: string, email: string) => object]>([
    [
      'a soft bounce',
      (job, email) =>
        eventOf(job, email, {
          bounce: {
            bounceType: 'Transient',
            bounceSubType: 'MailboxFull',
            bouncedRecipients: [{ emailAddress: email }],
          },
        }),
    ],
    [
      'an undetermined bounce',
      (job, email) =>
        eventOf(job, email, {
          bounce: {
            bounceType: 'Undetermined',
            bounceSubType: 'Undetermined',
            bouncedRecipients: [{ emailAddress: email }],
          },
        }),
    ],
    ['a complaint that was taken back', (job, email) => eventOf(job, email, complaint(email, 'not-spam'))],
    [
      'a rejected mail',
      (job, email) => eventOf(job, email, { eventType: 'Reject', reject: { reason: 'Bad content' } }),
    ],
    ['a delivery', (job, email) => eventOf(job, email, { eventType: 'Delivery', delivery: { recipients: [email] } })],
    ['about another address', (job) => eventOf(job, 'owner@acme.test')],
    ['about an unknown job', (_job, email) => eventOf(randomUUID(), email)],
    ['about a job that is no id', (_job, email) => eventOf(`' or true --`, email)],
    ['about no job', (_job, email) => eventOf('', email, { mail: { messageId: 'one', tags: {} } })],
    ['no JSON object', () => ['Bounce']],
  ])('leaves everything as it is, and is not delivered again, when the message is %s', async (_kind, forged) => {
    const { owner } = await service.newTenant('owner')
    const email = newAddress()
    await invite(owner.token, email)
    expect(await report(forged(await jobOf(), email))).toEqual({ batchItemFailures: [] })
    expect((await invitationOf(owner.token, email)).bounced_at).toBeNull()
    expect(await service.sql`select from app.users where email = 'owner@acme.test' and bounced_at is not null`).toEqual(
      [],
    )
  })

  it.each([
    ['abuse', 'Some.Body'],
    [null, 'another'],
  ])('is not needed to stop mail: a complaint does so too, in any form of the address: %s', async (feedback, name) => {
    const { owner } = await service.newTenant('owner')
    const email = `${name.toLowerCase()}${newAddress()}`
    await invite(owner.token, email)
    const shown = `A Person <${name}${email.slice(name.length)}>`
    await report(eventOf(await jobOf(), email, complaint(shown, feedback)))
    expect((await invitationOf(owner.token, email)).bounced_at).toMatch(/Z$/)
  })

  it('is delivered again, alone, when recording it fails', async () => {
    const { owner } = await service.newTenant('owner')
    const [good, bad] = [newAddress(), newAddress()]
    await invite(owner.token, good)
    const event = queueEvent(eventOf(await jobOf(), bad), eventOf(await jobOf(), good))
    const { database } = service.worker
    const failing = (parts: TemplateStringsArray, ...values: any[]) =>
      values.includes(bad) ? Promise.reject(new Error('the database is down')) : database.sql(parts, ...values)
    const worker = { ...service.worker, database: { ...database, sql: Object.assign(failing, database.sql) } }
    const [{ messageId } = { messageId: '' }] = event.Records
    expect(await recordBounces(worker as never, event)).toEqual({ batchItemFailures: [{ itemIdentifier: messageId }] })
    expect((await invitationOf(owner.token, good)).bounced_at).toMatch(/Z$/)
  })
})

describe('operate unsuppress', () => {
  const sesClient = () => {
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
    const ses = new SESv2Client({ endpoint: service.mail.sesUrl, region: 'us-east-1', credentials, maxAttempts: 1 })
    onTestFinished(() => ses.destroy())
    return ses
  }

  it('lets an address get mail again, and records who did it and why where the bounce was recorded', async () => {
    const { id: tenantId, owner, slug } = await service.newTenant('owner')
    const inviting = await service.newTenant('owner')
    const email = newAddress()
    const user = await createUser(service.sql, { email, slugs: [slug] })
    const invitation = await invite(inviting.owner.token, email)
    await report(eventOf(await jobOf(), email))
    await service.request('POST /v1/auth/password/forgot', { body: { email } })
    await report(eventOf(await jobOf(), email))
    expect((await entriesOf(user)).map((entry) => entry['tenant_id'])).toEqual([tenantId])
    expect(await unsuppress(sesClient(), email)).toBeNull()
    const database = connectTo(service.database.operatorUrl)
    onTestFinished(() => database.close())
    const { config } = service.runtime
    const run = () =>
      operate({ config, database, pepper: PEPPER, mailKey: MAIL_KEY }, { command: 'unsuppress', email }, INSTRUCTION)
    expect(await run()).toEqual({ done: { email, invitations: 1, users: 1 } })
    const { operator, reason } = INSTRUCTION
    expect((await entriesOf(user))[1]).toEqual({
      tenant_id: tenantId,
      action: 'user.bounce_cleared',
      after: { operator, reason },
    })
    expect((await entriesOf(invitation))[1]).toEqual({
      tenant_id: inviting.id,
      action: 'invitation.bounce_cleared',
      after: { operator, reason },
    })
    expect((await invitationOf(inviting.owner.token, email)).bounced_at).toBeNull()
    expect(await service.mail.deliver()).toBe(2)
    expect(await run()).toEqual({ done: { email, invitations: 0, users: 0 } })
    expect((await service.request('GET /v1/members', { token: owner.token })).status).toBe(200)
  })

  it('removes the address from the list of SES, and refuses while SES fails', async () => {
    const email = newAddress()
    const { owner } = await service.newTenant('owner')
    const body = JSON.stringify({ EmailAddress: email, Reason: 'BOUNCE' })
    await fetch(`${service.mail.sesUrl}/v2/email/suppression/addresses`, { method: 'PUT', body })
    await invite(owner.token, email)
    expect(await service.mail.deliver()).toBe(1)
    expect(service.mail.to(email)).toEqual([])
    await report(...service.mail.events.slice(-1))
    expect((await invitationOf(owner.token, email)).bounced_at).toMatch(/Z$/)
    await service.mail.faults.set({ part: 'ses', mode: 'refuse' })
    expect(await unsuppress(sesClient(), email)).toEqual({ refused: expect.stringContaining('SES failed') })
    await service.mail.faults.set({ part: 'ses', mode: 'ok' })
    expect(await unsuppress(sesClient(), email)).toBeNull()
    await service.sql`update app.tokens set bounced_at = null where email = ${email}`
    await invite(owner.token, email)
    expect(await service.mail.deliver()).toBe(1)
    expect(service.mail.to(email)).toHaveLength(1)
  })
})
