import { afterAll, beforeAll, expect, it } from 'vitest'
import { bareMarkup } from '#web/http/failure.ts'
import { startWeb, type TestWeb } from '#tests/support/web.ts'

const HELP = 'https://help.prints.test/contact?from="app"'
const LINKS = [
  { name: 'Quotes & <b>orders</b>', url: 'https://quotes.prints.test/?a=1&b=2' },
  { name: 'Artwork', url: 'https://art.prints.test/' },
]

let named: TestWeb
let unnamed: TestWeb
beforeAll(async () => {
  named = await startWeb({
    env: {
      PLATFORM_NAME: 'Prints & Co',
      PLATFORM_LOGO_URL: '/logo.svg',
      SUPPORT_URL: HELP,
      PRIVACY_URL: 'https://prints.test/privacy',
      ACCESSIBILITY_URL: 'https://prints.test/accessibility',
      PLATFORM_LINKS: JSON.stringify(LINKS),
    },
  })
  unnamed = await startWeb()
})
afterAll(() => Promise.all([named.close(), unnamed.close()]))

const footerOf = (body: string): string => /<footer.*<\/footer>/s.exec(body)?.[0] ?? ''

it('names the platform in title, header and footer, and leads to its help, privacy notice and accessibility statement', async () => {
  const browser = named.browser()
  for (const path of ['/sign-in', '/forgot-password', '/nowhere']) {
    const { body } = await browser.open(path)
    expect(body).toMatch(/<title>[^<]+ · Prints &amp; Co<\/title>/)
    expect(body).toContain('<a class="brand" href="/"><img src="/logo.svg" alt="" height="32"> Prints &amp; Co</a>')
    expect(footerOf(body)).toContain('Prints &amp; Co')
    expect(footerOf(body)).toContain('href="https://help.prints.test/contact?from=&quot;app&quot;"')
    for (const page of ['privacy', 'accessibility'])
      expect(footerOf(body)).toContain(`href="https://prints.test/${page}"`)
    expect(body).not.toContain('Tenantry')
  }
  expect((await browser.submit('/language', { lang: 'es' })).body).toContain('Accesibilidad')
})

it('has no image and no link of the platform where the operator set none', async () => {
  const { body } = await unnamed.browser().open('/sign-in')
  expect(body).toContain('<title>Sign in · Tenantry</title>')
  expect(body).not.toContain('<img')
  expect(footerOf(body)).not.toContain('<a ')
})

it('leads a person whose role has no page here to the other applications, and nobody else', async () => {
  const { body } = await named.signedIn('designer@acme.test', 'acme-print').then((browser) => browser.page)
  expect(body).toContain('<a href="https://quotes.prints.test/?a=1&amp;b=2">Quotes &amp; &lt;b&gt;orders&lt;/b&gt;</a>')
  expect(body).toContain('<a href="https://art.prints.test/">Artwork</a>')
  const owner = await named.signedIn('owner@acme.test', 'acme-print')
  expect(owner.page.body).not.toContain('art.prints.test')
  const alone = await unnamed.signedIn('designer@acme.test', 'acme-print')
  expect(alone.page.body).not.toContain('other applications')
})

it('leads from a failure to the help of the platform, beside the reference', async () => {
  named.breakApi(() => Promise.reject(new Error('the API is down')))
  const browser = named.browser()
  await browser.open('/forgot-password')
  const { status, body } = await browser.submit('/forgot-password', { email: 'owner@acme.test' })
  named.breakApi(null)
  expect(status).toBe(503)
  expect(/Reference for support: .*?<\/p>/.exec(body)?.[0]).toContain('href="https://help.prints.test/')
})

it('says nothing of a platform where API Gateway fails, which does not know its name', () => {
  expect(bareMarkup(['en', 'es'], 500)).not.toContain('Tenantry')
})
