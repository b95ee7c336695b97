import { afterAll, beforeAll, expect, it } from 'vitest'
import { vendorAccounts } from '#infra/local/vendors/vendors.ts'
import { tokenIn } from '#tests/support/mail.ts'
import { startWeb, type TestWeb } from '#tests/support/web.ts'

let web: TestWeb
beforeAll(async () => {
  web = await startWeb({ env: { PASSWORD_MIN_LENGTH: '21' } })
})
afterAll(() => web.close())

/** Returns the forms of a page that set a password. */
const formsOf = (body: string): string[] =>
  [...body.matchAll(/<form.*?<\/form>/gs)].map(([form]) => form).filter((form) => form.includes('"new-password"'))

it('tells a password manager the account and what a new password must be, in every form that sets one', async () => {
  const owner = await web.signedIn('owner@acme.test', 'acme-print')
  const account = await owner.open('/account')
  const invited = 'new@managers.test'
  const { mail } = web.service
  await owner.open('/s/acme-print/invitations')
  await owner.submit('/s/acme-print/invitations', { email: invited, role: 'viewer' })
  await mail.deliver()
  const invitation = await web.browser().open(`/invitation?token=${tokenIn(mail.to(invited)[0])}`)
  const stranger = web.browser()
  await stranger.open('/forgot-password')
  await stranger.submit('/forgot-password', { email: 'sales@acme.test' })
  await mail.deliver()
  const reset = await stranger.open(`/reset-password?token=${tokenIn(mail.to('sales@acme.test')[0])}`)
  for (const [{ body }, email] of [
    [account, 'owner@acme.test'],
    [invitation, invited],
    [reset, 'sales@acme.test'],
  ] as const) {
    const [form = '', ...others] = formsOf(body)
    expect(others).toEqual([])
    expect(form).toMatch(new RegExp(`<input [^>]*autocomplete="username"[^>]* value="${email}"[^>]* readonly`))
    for (const [input] of form.matchAll(/<input [^>]*autocomplete="new-password"[^>]*>/g)) {
      expect(input).toContain(' minlength="21" passwordrules="minlength: 21;"')
      expect(input).not.toContain('value=')
    }
  }
})

it('says to whom the link for a new password went, at no address and to no other browser', async () => {
  const browser = web.browser()
  await browser.open('/forgot-password')
  const { location } = await browser.post('/forgot-password', {
    ...browser.hidden('/forgot-password'),
    email: ' <b>ann@nowhere.test ',
  })
  expect(location).toBe('/forgot-password?notice=reset-requested')
  const known = web.browser()
  await known.open('/forgot-password')
  const { body } = await known.submit('/forgot-password', { email: 'sales@acme.test' })
  expect(body).toContain('If sales@acme.test has an account, an email with a link is on its way.')
  expect(body).not.toContain('name="email"')
  expect(body).toContain('<a href="/forgot-password">Enter it again</a>')
  expect([...known.cookies].some(([, value]) => value.includes('sales'))).toBe(false)
  const other = await web.browser().open('/forgot-password?notice=reset-requested')
  expect(other.body).not.toContain('sales@acme.test')
  expect((await known.open('/forgot-password')).body).toContain('name="email"')
})

it('tells somebody without an account whom to ask', async () => {
  expect((await web.browser().open('/sign-in')).body).toContain('No account yet? Ask an owner or an admin')
})

it('masks the key of a vendor in a text field, which no password manager keeps, and never shows it again', async () => {
  const owner = await web.signedIn('owner@acme.test', 'acme-print')
  const path = '/s/acme-print/vendor-accounts'
  const field = () => /<input [^>]*name="secret"[^>]*>/.exec(owner.page.body)?.[0]
  const masked = /type="text" class="masked" autocomplete="off" autocapitalize="none" spellcheck="false">$/
  await owner.open(`${path}/new`)
  expect(field()).toMatch(masked)
  await owner.submit(path, { vendor: 'sanmar', account_number: '', secret: 'a-key-of-a-vendor' })
  expect(owner.page.status).toBe(422)
  expect(field()).toMatch(masked)
  const [vendor] = vendorAccounts
  await owner.submit(path, {
    vendor: vendor?.code ?? '',
    account_number: vendor?.account_number ?? '',
    secret: vendor?.secret ?? '',
  })
  const id = /vendor-accounts\/([0-9a-f-]{36})\/secret/.exec(owner.page.body)?.[1]
  await owner.open(`${path}/${id}/secret`)
  expect(field()).toMatch(masked)
  await owner.submit(`${path}/${id}/secret`, { secret: ' a-key:of-a-vendor' })
  expect(owner.page.status).toBe(422)
  expect(field()).toMatch(masked)
  expect(owner.page.body).not.toContain('of-a-vendor')
})
