import { afterAll, beforeAll, expect, test } from 'vitest'
import { startWeb, type TestWeb } from '#tests/support/web.ts'

let web: TestWeb
beforeAll(async () => {
  web = await startWeb()
})
afterAll(() => web.close())

test('signs in, chooses a shop, switches to another, changes the language and signs out', async () => {
  const browser = await web.signedIn('both@shops.test')
  expect(browser.page.body).toContain('<h1>Choose a shop</h1>')
  await browser.chooseShop('acme-print')
  expect(browser.page.body).toContain('<h1>Acme Print</h1>')
  await browser.open('/s/bolt-apparel')
  expect(browser.page.status).toBe(409)
  expect(browser.page.body).toContain('You are now acting in Acme Print.')
  await browser.submit('/shops')
  expect(browser.page.body).toContain('<h1>Bolt Apparel</h1>')
  await browser.submit('/language', { lang: 'es' })
  expect(browser.page.body).toContain('<html lang="es">')
  const token = browser.cookies.get('__Host-tenantry')
  await browser.submit('/sign-out')
  expect(browser.page.body).toContain('Ha cerrado la sesión.')
  expect((await web.service.request('GET /v1/auth/session', { token })).status).toBe(401)
})
