import { afterAll, beforeAll, expect, it } from 'vitest'
import { startWeb, type TestWeb } from '#tests/support/web.ts'

let web: TestWeb
beforeAll(async () => {
  web = await startWeb()
})
afterAll(() => web.close())

/** What waits, each with its link or null. */
const waiting = (body: string): (readonly [text: string, link: string | null])[] =>
  [
    ...(/<h2>(?:What waits for you|Lo que le espera)<\/h2>\n(.*?)\n<dl>/s.exec(body)?.[1] ?? '').matchAll(
      /<li>(.*?)<\/li>/gs,
    ),
  ].map(([, item = '']) => [item.replaceAll(/<[^>]*>/g, ''), /href="([^"]*)"/.exec(item)?.[1] ?? null] as const)

it('leads each person to what waits for them, and says when nothing does', async () => {
  const { sql } = web.service
  const owner = await web.signedIn('owner@acme.test', 'acme-print')
  await sql`delete from app.design_assets`
  await sql`delete from app.designs`
  expect((await owner.open('/s/acme-print')).body).toContain('Nothing waits for you.')
  const [shop] = await sql`update app.tenants set status = 'past_due' where slug = 'acme-print' returning id`
  const id: string = shop?.['id']
  await sql`
    insert into app.tokens (token_hash, purpose, tenant_id, email, role_id, expires_at, bounced_at)
    select sha256(n::text::bytea), 'invite', ${id}, 'invited' || n || '@shops.test', 7, now() + interval '1 day',
           case when n <= 1234 then now() end from generate_series(1, 1236) n`
  await sql`
    with key as (
      insert into app.data_keys (tenant_id, purpose, kms_key_arn, wrapped_key) values (${id}, 'vendor-credential', 'arn', '\\x00') returning id),
    account as (
      insert into app.vendor_accounts (tenant_id, vendor, account_number, status, data_key_id, sealed_secret)
      select ${id}, 'ss-activewear', '1', 'unverified', key.id, decode(repeat('00', 45), 'hex') from key returning id, vendor)
    insert into app.sync_runs (tenant_id, vendor, vendor_account_id, status, started_at, finished_at, error)
    select ${id}, vendor, id, 'failed', now(), now(), 'vendor-rejected' from account`
  await sql`insert into app.designs (tenant_id, name) values (${id}, 'Summer camp')`
  const [run] = await sql`select id from app.sync_runs where tenant_id = ${id} and status = 'failed'`
  const { body } = await owner.open('/s/acme-print')
  expect(waiting(body)).toEqual([
    ['A payment for the shop is due.', null],
    ['1,234 invitations could not be delivered.', '/s/acme-print/invitations'],
    [
      expect.stringMatching(/^The sync of S&amp;S Activewear failed: The vendor refused the credentials\. /),
      `/s/acme-print/sync-runs/${run?.['id']}`,
    ],
    ['1 vendor account is not verified.', '/s/acme-print/vendor-accounts'],
    ['1 design waits for approval.', null],
  ])
  for (const number of ['1,236 open invitations', '1 vendor account', '0 failed sign-ins in the last 24 hours'])
    expect(body).toContain(`<p>${number}</p>`)
  await sql`update app.users set email_verified_at = null where email = 'sales@acme.test'`
  const sales = await web.signedIn('sales@acme.test', 'acme-print')
  expect(waiting(sales.page.body)).toEqual([['You have not confirmed your email address yet.', '/account']])
  expect(sales.page.body).toContain('<dt>Designs without approval</dt><dd>1</dd>')
  await sales.submit('/language', { lang: 'es', next: '/s/acme-print' })
  expect(waiting((await sales.open('/s/acme-print')).body)).toEqual([
    ['Todavía no ha confirmado su correo electrónico.', '/account'],
  ])
})
