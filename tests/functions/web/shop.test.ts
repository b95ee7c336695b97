import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { vendorAccounts } from '#infra/local/vendors/vendors.ts'
import { deviceName } from '#web/pages/account/device.ts'
import { sessionsPage } from '#web/texts/sessions-page.ts'
import { startOfDay } from '#web/view/time.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { startWeb, type TestWeb } from '#tests/support/web.ts'

let web: TestWeb
beforeAll(async () => {
  web = await startWeb()
})
afterAll(() => web.close())

const BASE = '/s/acme-print'

describe('the settings page', () => {
  it('saves the settings, shows a refusal at its field, and overwrites no change of somebody else', async () => {
    const owner = await web.signedIn('owner@acme.test', 'acme-print')
    await owner.open(`${BASE}/settings`)
    await owner.submit(`${BASE}/settings`, { legal_name: 'Acme Prints', timezone: 'Europe/Vienna', currency: 'USD' })
    expect(owner.page.body).toContain('The settings were saved.')
    expect(owner.page.body).toContain('value="Acme Prints"')
    await owner.submit(`${BASE}/settings`, { legal_name: ' ', timezone: 'Mars/Base', currency: 'USD' })
    expect(owner.page.status).toBe(422)
    expect(owner.page.body).toContain('aria-describedby="field-timezone-hint field-timezone-error"')
    await owner.open(`${BASE}/settings`)
    const { page } = owner
    await owner.submit(`${BASE}/settings`, { legal_name: 'First', timezone: 'UTC', currency: 'USD' })
    owner.page = page
    await owner.submit(`${BASE}/settings`, { legal_name: 'Second', timezone: 'UTC', currency: 'USD' })
    expect(owner.page.status).toBe(422)
    await owner.open(`${BASE}/settings`)
    expect(owner.page.body).toContain('value="First"')
  })
})

describe('the account pages', () => {
  it('change the password, and never fill one in', async () => {
    const person = await web.signedIn('designer@acme.test')
    await person.open('/account')
    const to = '/account/password'
    const fields = { current_password: PASSWORD, new_password: 'a new passphrase for pages', repeated: 'another one' }
    await person.submit(to, fields)
    expect(person.page.body).toContain('Enter the same new password twice.')
    await person.submit(to, { ...fields, new_password: 'short', repeated: 'short' })
    expect(person.page.status).toBe(422)
    expect(person.page.body).toContain('id="field-new_password-error"')
    await person.submit(to, { ...fields, current_password: 'wrong', repeated: fields.new_password })
    expect(person.page.body).toContain('id="field-current_password-error"')
    expect(person.page.body).not.toContain(fields.new_password)
    await person.submit(to, { ...fields, repeated: fields.new_password })
    expect(person.page.body).toContain('The password was changed.')
  })

  it('set the language of the person', async () => {
    const person = await web.signedIn('viewer@acme.test')
    await person.open('/account')
    expect(person.page.body).toContain('<option value="en" selected>English</option>')
    await person.submit('/account/language', { language: 'es' })
    expect(person.page.body).toContain('Se cambió su idioma.')
    expect(person.page.body).toContain('<option value="es" selected>Español</option>')
    await person.submit('/account/language', { language: 'tlh' })
    expect(person.page.status).toBe(422)
    expect(person.page.body).toContain('id="field-language-error"')
  })

  it('list the sessions, mark this one, and end the others', async () => {
    const [here, there] = [await web.signedIn('production@acme.test'), await web.signedIn('production@acme.test')]
    await here.open('/account/sessions')
    expect(here.page.body.match(/This session/g)).toHaveLength(1)
    const [, end = ''] = /action="(\/account\/sessions\/[^"]*\/end)"/.exec(here.page.body) ?? []
    await here.submit(end)
    expect(here.page.body).toContain('The session was ended.')
    await there.open('/account')
    expect(there.page.body).toContain('<h1>Sign in</h1>')
    expect(here.page.body).toMatch(
      /<summary>End all other sessions\?<\/summary><p>[^<]*You stay signed in here\.<\/p><form/,
    )
    await here.submit('/account/sessions/end-others')
    expect(here.page.body).toContain('Your other sessions were ended.')
  })

  it('list the sessions of one device in one row, which opens them, and end each by itself', async () => {
    const here = await web.signedIn('account@acme.test')
    const device = (userAgent: string, count: number) => web.service.sql`
      insert into app.sessions (token_key, user_id, csrf_secret, user_agent, idle_expires_at, absolute_expires_at)
      select sha256((${userAgent}::text || n)::bytea), u.id, sha256('csrf'), ${userAgent}::text || n, now() + interval '1 day', now() + interval '1 day'
        from app.users u, generate_series(1, ${count}) n where u.email = 'account@acme.test'`
    await device('Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/14', 3)
    await device('Mozilla/5.0 (iPhone) Version/18 Mobile/15E148 Safari/60', 1)
    await device('', 2)
    const rowHeads = () =>
      [...here.page.body.matchAll(/<th scope="row">(.*?)(?: <|<\/)/g)].map(([, head = '']) => head.trim())
    await here.open('/account/sessions')
    // Each session of a group has no shop. This session has a row of its own.
    const devices = ['Another program', 'Safari on iPhone', 'Chrome on Windows', 'Another program']
    expect(rowHeads().filter((head) => head !== 'No shop chosen')).toEqual(devices)
    const ends = [...here.page.body.matchAll(/action="(\/account\/sessions\/[0-9a-f-]{36}\/end)"/g)].map(
      ([, to = '']) => to,
    )
    expect(new Set(ends).size).toBe(6)
    const [, inGroup = ''] =
      /<summary>3 sessions<span class="unseen"> Chrome on Windows<\/span>[^]*?action="([^"]*)"/.exec(here.page.body) ??
      []
    await here.submit(inGroup)
    expect(here.page.body).toContain('<summary>2 sessions<span class="unseen"> Chrome on Windows</span></summary>')
    expect(here.page.body).not.toContain(inGroup)
  })
})

describe('the vendor account pages', () => {
  it('say that a sync kept most SKUs, and sync again to withdraw them when a person asks', async () => {
    const { sql } = web.service
    const owner = await web.signedIn('owner@acme.test', 'acme-print')
    const [vendor] = vendorAccounts
    await owner.open(`${BASE}/vendor-accounts/new`)
    await owner.submit(`${BASE}/vendor-accounts`, {
      vendor: vendor?.code ?? '',
      label: 'Withheld',
      account_number: vendor?.account_number ?? '',
      secret: vendor?.secret ?? '',
    })
    const [run] = await sql<{ id: string; account: string }[]>`
      insert into app.sync_runs (tenant_id, vendor, vendor_account_id, status, started_at, finished_at, withheld)
      select tenant_id, vendor, id, 'succeeded', now(), now(), 1234 from app.vendor_accounts where label = 'Withheld'
      returning id, vendor_account_id as account`
    await owner.open(`${BASE}/sync-runs/${run?.id}`)
    expect(owner.page.body).toContain('The vendor no longer lists 1,234 SKUs')
    await owner.submit(`${BASE}/vendor-accounts/${run?.account}/sync`)
    const runs = await sql`
      select withdraw_most from app.sync_runs where vendor_account_id = ${run?.account ?? ''} order by created_at desc limit 1`
    expect([...runs]).toEqual([{ withdraw_most: true }])
    await sql`update app.sync_runs set status = 'failed', error = 'abandoned', finished_at = now() where status = 'queued'`
  })

  it('say how far a sync is, what it changed and which sizes are unknown, and lead on once it has ended', async () => {
    const { sql } = web.service
    const owner = await web.signedIn('owner@acme.test', 'acme-print')
    const [run] = await sql<{ id: string; account: string }[]>`
      insert into app.sync_runs (tenant_id, vendor, vendor_account_id, status, started_at, total, position, unresolved, added, dearer, cheaper)
      select tenant_id, vendor, id, 'running', now(), 2000, 1234, array['2XTALL', '<b>OSFA</b>'], 5678, 12, 3
        from app.vendor_accounts where label = 'Withheld'
      returning id, vendor_account_id as account`
    const address = `${BASE}/sync-runs/${run?.id}`
    const { body } = await owner.open(address)
    expect(body).toContain('<label for="progress">1,234 of 2,000 products read</label>')
    expect(body).toContain('<progress id="progress" max="2000" value="1234">')
    expect(body).toContain(`<a href="${address}">Load again</a>`)
    expect(body).not.toContain('http-equiv')
    for (const [label, count] of [
      ['New', '5,678'],
      ['Dearer', '12'],
      ['Cheaper', '3'],
      ['Withdrawn', '0'],
    ])
      expect(body).toContain(`<dt>${label}</dt><dd>${count}</dd>`)
    expect(body).toContain('<li><code>2XTALL</code></li>')
    expect(body).toContain('<li><code>&lt;b&gt;OSFA&lt;/b&gt;</code></li>')
    expect(body).not.toContain('What next?')
    expect(body).toContain(`<a href="${BASE}/vendor-accounts" aria-current="true">`)
    await sql`update app.sync_runs set status = 'succeeded', finished_at = now(), position = 2000 where id = ${run?.id ?? ''}`
    const ended = await owner.open(address)
    expect(ended.body).toContain('2,000 of 2,000 products read')
    expect(ended.body).not.toContain('Load again')
    expect(ended.body).toContain('What next?')
    expect(ended.body).toContain(`action="${BASE}/vendor-accounts/${run?.account}/sync"`)
    const list = await owner.open(`${BASE}/sync-runs`)
    expect(list.body).toContain('Withheld (')
    expect(list.body).toContain(`<a href="${BASE}/vendor-accounts" aria-current="true">`)
  })

  it('connect an account, refuse wrong credentials at the field, and erase the secret after a question', async () => {
    const owner = await web.signedIn('owner@bolt.test', 'bolt-apparel')
    const base = '/s/bolt-apparel/vendor-accounts'
    await owner.open(`${base}/new`)
    expect(owner.page.body).toContain('<option value="ss-activewear">')
    await owner.submit(base, { vendor: 'ss-activewear', label: '', account_number: '', secret: 'x'.repeat(30) })
    expect(owner.page.status).toBe(422)
    expect(owner.page.body).toContain('id="field-account_number-error"')
    expect(owner.page.body).not.toContain('x'.repeat(30))
    await owner.open(`${base}/${crypto.randomUUID()}/secret`)
    expect(owner.page.status).toBe(404)
    const [vendor] = vendorAccounts
    if (vendor === undefined) throw new Error('there is no local vendor')
    await owner.open(`${base}/new`)
    await owner.submit(base, {
      vendor: vendor.code,
      label: 'Main account',
      account_number: vendor.account_number,
      secret: vendor.secret,
    })
    const [, account = ''] = /href="([^"]*)\/revoke"/.exec(owner.page.body) ?? []
    await owner.open(`${account}/revoke`)
    expect(owner.page.body).toContain('<h1>Revoke Main account?</h1>')
    await owner.submit(`${account}/revoke`)
    expect(owner.page.body).not.toContain(`${account}/`)
    for (const path of ['secret', 'revoke']) expect((await owner.open(`${account}/${path}`)).status).toBe(404)
  })
})

it.each([
  ['Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/130.0 Safari/537.36 Edg/130.0', 'Edge on Windows'],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0', 'Firefox on Linux'],
  ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1', 'Safari on iPhone'],
  ['curl/8.0', 'Another program'],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148',
    'Another program on iPhone',
  ],
  [null, 'Another program'],
])('names the device of %s', (agent, device) => {
  expect(deviceName(agent, sessionsPage.en)).toBe(device)
})

it.each([
  ['2026-11-22', 'UTC', '2026-11-22T00:00:00.000Z'],
  ['2026-11-22', 'America/Chicago', '2026-11-22T06:00:00.000Z'],
  ['2026-03-29', 'Europe/Vienna', '2026-03-28T23:00:00.000Z'],
  ['2026-03-30', 'Europe/Vienna', '2026-03-29T22:00:00.000Z'],
])('begins the day %s in %s at %s', (day, zone, time) => {
  expect(startOfDay(day, zone)).toBe(time)
})
