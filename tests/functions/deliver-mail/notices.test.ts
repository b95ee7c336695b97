import { expect, it } from 'vitest'
import { FACTOR_CHANGES } from '#shared/queue/kinds.ts'
import { newFactorUser } from '#tests/support/factor.ts'
import { createMember, createUser } from '#tests/support/minted-session.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { useService } from '#tests/support/test.ts'

const service = useService({ env: { TRUSTED_PROXIES: '127.0.0.1/32,::1/128' } })

/** The subjects that an address got, the newest first. */
async function subjects(email: string): Promise<string[]> {
  await service.mail.deliver()
  return service.mail.to(email).map(({ subject }) => subject)
}

it('mails a member whose role somebody else changed, once, and nobody who changed their own or kept it', async () => {
  const { slug, owner, admin, sales } = await service.newTenant('owner', 'admin', 'sales')
  const change = (id: string, token: string, role: string) =>
    service.request(`PATCH /v1/members/${id}`, { token, body: { role } })
  await change(sales.membershipId, owner.token, 'designer')
  await change(sales.membershipId, owner.token, 'designer')
  expect(await subjects(`sales@${slug}.test`)).toEqual([`Your role in Shop ${slug} (${slug}) was changed`])
  const [message] = service.mail.to(`sales@${slug}.test`)
  expect(message?.text).toContain('is: Designer.')
  expect(message?.text).toContain('If you think that this is a mistake, ask an owner or an admin of the shop.')
  await change(admin.membershipId, admin.token, 'viewer')
  expect(await subjects(`admin@${slug}.test`)).toEqual([])
  await service.sql`update app.users set language = 'es' where id = ${sales.userId}`
  await change(sales.membershipId, owner.token, 'production')
  const [second] = await subjects(`sales@${slug}.test`)
  expect(second).toBe(`Su rol en Shop ${slug} (${slug}) ha cambiado`)
  // Removed before it was sent: the mail of the removal says it all.
  await change(sales.membershipId, owner.token, 'viewer')
  await service.request(`DELETE /v1/members/${sales.membershipId}`, { token: owner.token })
  expect((await subjects(`sales@${slug}.test`)).slice(0, -2)).toEqual([`Ya no forma parte de Shop ${slug} (${slug})`])
})

it('mails who invited a person that they joined, while who invited them is a member', async () => {
  const { slug, owner } = await service.newTenant('owner')
  const invite = async (email: string, token: string) => {
    await service.request('POST /v1/members/invite', { token, body: { email, role: 'sales' } })
    return service.mail.tokenFor(email)
  }
  const accept = (token: string) =>
    service.request('POST /v1/auth/invitations/accept', {
      body: { token, full_name: 'Wire $500 Now', password: PASSWORD },
    })
  const token = await invite(`new@${slug}.test`, owner.token)
  await accept(token)
  await accept(token)
  expect(await subjects(`owner@${slug}.test`)).toEqual([`new@${slug}.test joined Shop ${slug} (${slug})`])
  const [message] = service.mail.to(`owner@${slug}.test`)
  expect(message?.text).toContain('The role is: Sales.')
  expect(message?.text).toContain(`/s/${slug}/members`)
  expect(message?.text).not.toContain('Wire')
  const gone = await createMember(service.sql, { email: `gone@${slug}.test`, role: 'admin', slug })
  const second = await invite(`late@${slug}.test`, gone.token)
  await accept(second)
  await service.request(`DELETE /v1/members/${gone.membershipId}`, { token: owner.token })
  expect(await subjects(`gone@${slug}.test`)).toEqual([`You were removed from Shop ${slug} (${slug})`])
})

it('mails an invitation in the language that the inviter chose, also when it is sent again, and in their own to somebody with an account', async () => {
  const { slug, owner } = await service.newTenant('owner')
  const shop = `Shop ${slug} (${slug})`
  await service.sql`update app.users set email_verified_at = now() where id = ${owner.userId}`
  const invite = (email: string, language?: string) =>
    service.request('POST /v1/members/invite', { token: owner.token, body: { email, role: 'sales', language } })
  const english = `owner@${slug}.test invites you to ${shop}`
  const spanish = `owner@${slug}.test le invita a ${shop}`
  const { body } = await invite(`new@${slug}.test`, 'es')
  await invite(`other@${slug}.test`)
  await createUser(service.sql, { email: `known@${slug}.test` })
  await invite(`known@${slug}.test`, 'es')
  expect(await subjects(`new@${slug}.test`)).toEqual([spanish])
  expect(await subjects(`other@${slug}.test`)).toEqual([english])
  expect(await subjects(`known@${slug}.test`)).toEqual([english])
  await service.sql`update app.tokens set issued_at = now() - interval '1 day' where email = ${`new@${slug}.test`}`
  await service.request(`POST /v1/members/invitations/${body.id}/resend`, { token: owner.token })
  expect(await subjects(`new@${slug}.test`)).toEqual([spanish, spanish])
  expect((await invite(`new@${slug}.test`, 'fr')).status).toBe(422)
})

it('mails who has no second factor that the tenant asks them for one, now and a day before the date, unless it no longer does', async () => {
  const { id, slug, owner, admin, sales } = await service.newTenant('owner', 'admin', 'sales')
  await service.sql`update app.sessions set second_factor_at = now() where id = ${owner.id}`
  await service.sql`update app.users set language = 'es' where id = ${admin.userId}`
  const [withApp] = [await newFactorUser(service, [slug])]
  const ask = (require: string, days: number) =>
    service.request('PUT /v1/tenant/second-factor-policy', {
      token: owner.token,
      body: { require, grace_days: days },
    })
  const english = `Shop ${slug} (${slug}) asks you for a second step`
  const spanish = `Shop ${slug} (${slug}) le pide un segundo paso`
  const got = async () => [
    await subjects(`owner@${slug}.test`),
    await subjects(`admin@${slug}.test`),
    await subjects(`sales@${slug}.test`),
  ]
  /** Lets days go by. */
  const later = async (days: number) => {
    await service.sql`
      update app.tenants set second_factor_managers_from = second_factor_managers_from - make_interval(days => ${days}),
             second_factor_everyone_from = second_factor_everyone_from - make_interval(days => ${days}) where id = ${id}`
    await service.sql`
      update app.jobs set run_at = run_at - make_interval(days => ${days}), created_at = created_at - make_interval(days => ${days})
       where tenant_id = ${id} and completed_at is null`
  }
  expect((await ask('managers', 10)).status).toBe(200)
  expect((await ask('managers', 10)).status).toBe(200)
  expect(await got()).toEqual([[english], [spanish], []])
  const [message] = service.mail.to(`owner@${slug}.test`)
  expect(message?.text).toMatch(/^From .+ at .+ Eastern Time, Shop .+ asks for a second step after the password/m)
  expect(message?.text).toContain('/account/second-factor')
  await ask('everyone', 20)
  expect(await got()).toEqual([[english], [spanish], [english]])
  await later(8)
  expect(await got()).toEqual([[english], [spanish], [english]])
  // The reminder of the managers: the admin has set up an app by now.
  await service.sql`update app.factors set user_id = ${admin.userId} where user_id = ${withApp.id}`
  await later(1)
  expect(await got()).toEqual([[english, english], [spanish], [english]])
  // Somebody who is no member any more, and a policy that ended.
  await service.sql`update app.memberships set revoked_at = now() where id = ${sales.membershipId}`
  await later(10)
  expect(await got()).toEqual([[english, english], [spanish], [english]])
  await service.sql`update app.memberships set revoked_at = null where id = ${sales.membershipId}`
  await service.sql`delete from app.jobs where tenant_id = ${id}`
  await ask('none', 0)
  await ask('everyone', 3)
  await ask('none', 0)
  await later(2)
  expect(await got()).toEqual([[english, english], [spanish], [english]])
  await ask('everyone', 0)
  await subjects(`sales@${slug}.test`)
  expect(service.mail.to(`sales@${slug}.test`)[0]?.text).toMatch(/^Since .+ You can work in the shop again/ms)
})

const CHROME = 'Mozilla/5.0 (Windows NT 10.0) Chrome/130.0 Safari/537.36'
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0'

it('mails a person who signs in from a network and with a device of which neither is theirs, at most once in an hour', async () => {
  const email = 'production@acme.test'
  const signIn = async (ip: string, userAgent: string, password = PASSWORD) => {
    const headers = { 'x-forwarded-for': ip, 'user-agent': userAgent }
    const { status } = await service.request('POST /v1/auth/login', { body: { email, password }, headers })
    return [status, (await subjects(email)).length]
  }
  expect(await signIn('198.51.100.1', CHROME), 'the first day of the account').toEqual([200, 0])
  await service.sql`update app.users set created_at = now() - interval '2 days' where email = ${email}`
  expect(await signIn('198.51.100.1', FIREFOX), 'a known network').toEqual([200, 0])
  expect(await signIn('203.0.113.2', CHROME.replace('130', '131')), 'a known device').toEqual([200, 0])
  await service.sql`delete from app.known_networks`
  expect(await signIn('203.0.113.3', CHROME, 'a wrong password of somebody'), 'a failure').toEqual([401, 0])
  expect(await signIn('203.0.113.3', CHROME), 'both unknown').toEqual([200, 1])
  const [message] = service.mail.to(email)
  expect(message?.subject).toBe('New sign-in to your account')
  expect(message?.text).toContain('with Chrome on Windows, from a network')
  expect(message?.text).toContain('/forgot-password')
  await service.sql`delete from app.known_networks`
  // The next hour may begin during the test.
  await service.sql`
    insert into app.jobs (kind, payload, idempotency_key, completed_at)
    select 'mail', j.payload, 'new-sign-in ' || u.id || ' ' || (date_trunc('hour', now()) + interval '1 hour'), now()
      from app.jobs j, app.users u where j.payload ->> 'template' = 'new-sign-in' and u.email = ${email}`
  expect(await signIn('203.0.113.4', FIREFOX), 'within the hour').toEqual([200, 1])
  await service.sql`update app.jobs set idempotency_key = id where payload ->> 'template' = 'new-sign-in'`
  await service.sql`update app.known_networks set seen_at = now() - interval '31 days'`
  expect(await signIn('203.0.113.4', FIREFOX), 'after 31 days').toEqual([200, 2])
})

it('has a mail for every change of a second factor that a function of the database mails', async () => {
  const functions = await service.sql<{ source: string }[]>`
    select prosrc as source from pg_proc where pronamespace = 'app'::regnamespace and prosrc like '%app.mail_change(%'`
  const mailed = functions.flatMap(({ source }) =>
    [...source.matchAll(/app\.mail_change\(([^;]*);/g)].flatMap(([, given = '']) =>
      [...given.matchAll(/(?:,|then|else)\s*'([a-z-]+)'/g)].map(([, change]) => change),
    ),
  )
  expect(new Set(mailed)).toEqual(new Set(FACTOR_CHANGES))
})
