import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PASSWORD } from '#tests/support/service.ts'
import { startWeb, type TestWeb } from '#tests/support/web.ts'

const SAFARI = 'Safari keeps none over http'

describe.each([
  ['over https', 'https://app.tenantry.test', false],
  ['on a machine of a developer', 'http://localhost:3001', true],
])('a browser that keeps no cookies, %s', (_, origin, named) => {
  let web: TestWeb
  beforeAll(async () => {
    web = await startWeb({ env: { WEB_BASE_URL: origin } })
  })
  afterAll(() => web.close())

  const FORMS = [
    ['/sign-in', { email: 'owner@acme.test', password: PASSWORD }],
    ['/forgot-password', { email: 'owner@acme.test' }],
  ] as const

  it.each(FORMS)('is told so by the form of %s, which does nothing', async (path, fields) => {
    for (const headers of [{ origin }, { origin, 'sec-fetch-site': undefined }, { origin, 'accept-language': 'es' }]) {
      const browser = web.browser()
      await browser.open(path)
      browser.cookies.clear()
      const { status, body, cookies } = await browser.post(path, { ...browser.hidden(path), ...fields }, headers)
      expect(status).toBe(422)
      const spanish = 'accept-language' in headers
      expect(body).toContain(spanish ? 'su navegador no guarda cookies de este sitio' : 'your browser keeps no cookies')
      expect(body.includes(spanish ? 'Safari no guarda ninguna con http' : SAFARI)).toBe(named)
      expect(body).toContain('value="owner@acme.test"')
      expect(body).not.toContain(PASSWORD)
      expect(body).not.toContain('Your role')
      expect(cookies.some((cookie) => cookie.startsWith('__Host-tenantry='))).toBe(false)
    }
  })

  it('signs in with the form that is shown again, once it keeps cookies', async () => {
    const browser = web.browser()
    await browser.open('/sign-in')
    browser.cookies.clear()
    browser.page = await browser.post(
      '/sign-in',
      { ...browser.hidden('/sign-in'), email: 'x@y.test', password: 'x' },
      { origin },
    )
    const { status, cookies } = await browser.post(
      '/sign-in',
      { ...browser.hidden('/sign-in'), email: 'owner@acme.test', password: PASSWORD },
      { origin },
    )
    expect(status).toBe(303)
    expect(cookies.some((cookie) => cookie.startsWith('__Host-tenantry='))).toBe(true)
  })

  it('is told that the page was open for too long when it has other cookies', async () => {
    const browser = web.browser()
    await browser.open('/sign-in')
    await browser.submit('/language', { lang: 'en' })
    browser.cookies.delete('__Host-tenantry-form')
    const { status, body } = await browser.post(
      '/sign-in',
      { email: 'owner@acme.test', password: PASSWORD },
      { origin },
    )
    expect(status).toBe(422)
    expect(body).toContain('This page was open for too long.')
  })
})
