import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { startWeb, type TestWeb } from '#tests/support/web.ts'

let web: TestWeb
beforeAll(async () => {
  web = await startWeb()
})
afterAll(() => web.close())

it('tells search engines to list no page', async () => {
  const { status, headers, body } = await web.browser().request('/robots.txt')
  expect([status, headers.get('content-type'), body]).toEqual([
    200,
    'text/plain; charset=utf-8',
    'User-agent: *\nDisallow: /\n',
  ])
})

it('has an icon at the address that is asked for without reading a page', async () => {
  const { status, headers, body } = await web.browser().request('/favicon.ico')
  expect([status, headers.get('content-type'), body.startsWith('<svg')]).toEqual([200, 'image/svg+xml', true])
})

it('leads a password manager to the page where the password is changed', async () => {
  const { status, location } = await web.browser().request('/.well-known/change-password')
  expect([status, location]).toEqual([303, '/account'])
})

it('says where to report a vulnerability if the stage has a contact, until a day in the future', async () => {
  expect((await web.browser().request('/.well-known/security.txt')).status).toBe(404)
  const named = await startWeb({ env: { SECURITY_CONTACT: 'mailto:security@tenantry.test' } })
  onTestFinished(() => named.close())
  const { status, headers, body } = await named.browser().request('/.well-known/security.txt')
  expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8'])
  expect(body).toMatch(/^Contact: mailto:security@tenantry\.test\n/)
  const [, expires = ''] = /^Expires: (\d{4}-\d\d-\d\dT[\d:.]+Z)$/m.exec(body) ?? []
  const days = (Date.parse(expires) - Date.now()) / 86_400_000
  expect(days).toBeGreaterThan(30)
  expect(days).toBeLessThan(365)
})

it.each([
  ['/sign-in/', '/sign-in'],
  ['/sign-in/?next=%2Faccount', '/sign-in?next=%2Faccount'],
  ['/s/acme-print/members/', '/s/acme-print/members'],
  ['/account//', '/account'],
  ['/reset-password/?token=abc', '/reset-password?token=abc'],
])('%s leads to %s', async (address, to) => {
  const { status, location, headers } = await web.browser().request(address)
  expect([status, location, headers.get('cache-control')]).toEqual([303, to, 'no-store'])
})

it.each(['/no-such-page/', '/s/', '/%2Fevil.test/', '/sign-in/%0d%0a/', '/sign-out/'])(
  '%s leads nowhere',
  async (address) => {
    const { status, location } = await web.browser().request(address)
    expect([status, location]).toEqual([404, null])
  },
)

it('takes no form at an address with a slash after it', async () => {
  const browser = web.browser()
  await browser.open('/sign-in')
  expect((await browser.post('/sign-in/', browser.hidden('/sign-in'))).status).toBe(404)
})
