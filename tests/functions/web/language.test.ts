import { afterAll, beforeAll, expect, it } from 'vitest'
import { PASSWORD } from '#tests/support/service.ts'
import { type Browser, startWeb, type TestWeb } from '#tests/support/web.ts'

let web: TestWeb
beforeAll(async () => {
  web = await startWeb()
})
afterAll(() => web.close())

const PEOPLE = ['admin', 'sales', 'account', 'designer', 'production', 'viewer'].map((role) => `${role}@acme.test`)

/** Returns the address of somebody whom no other test uses. */
async function newPerson(language: 'en' | 'es'): Promise<string> {
  const email = PEOPLE.pop() ?? ''
  await web.service.sql`update app.users set language = ${language} where email = ${email}`
  return email
}

const languageOf = ({ page }: Browser): string | undefined => /<html lang="(..)">/.exec(page.body)?.[1]
const storedFor = async (email: string): Promise<string> =>
  (await web.service.sql`select language from app.users where email = ${email}`)[0]?.['language']

it('is that of the person after the sign-in, in any browser, and stays after the sign-out', async () => {
  const [ana, bob] = [await newPerson('es'), await newPerson('en')]
  const browser = web.browser()
  await browser.open('/sign-in')
  expect(languageOf(browser)).toBe('en')
  await browser.signIn(ana)
  expect(languageOf(browser)).toBe('es')
  await browser.submit('/sign-out')
  expect(browser.page.body).toContain('Ha cerrado la sesión.')
  // Another person at the same browser.
  await browser.signIn(bob)
  expect(languageOf(browser)).toBe('en')
})

it('is the one that was chosen before the sign-in, which changes nobody’s emails', async () => {
  const [bob, ana] = [await newPerson('en'), await newPerson('es')]
  const browser = web.browser()
  await browser.open('/sign-in')
  await browser.submit('/language', { lang: 'es' })
  await browser.signIn(bob)
  expect(languageOf(browser)).toBe('es')
  expect(await storedFor(bob)).toBe('en')
  await browser.submit('/sign-out')
  await browser.signIn(await newPerson('en'))
  expect(languageOf(browser)).toBe('en')
  await browser.submit('/sign-out')
  await browser.signIn(ana)
  expect(languageOf(browser)).toBe('es')
})

it('is one setting for pages and emails, wherever a person who is signed in chooses it', async () => {
  const email = await newPerson('en')
  const browser = web.browser()
  await browser.signIn(email)
  await browser.submit('/language', { lang: 'es' })
  expect([languageOf(browser), await storedFor(email)]).toEqual(['es', 'es'])
  await browser.open('/account')
  await browser.submit('/account/language', { language: 'en' })
  expect([languageOf(browser), await storedFor(email)]).toEqual(['en', 'en'])
  expect(browser.page.body).toContain('Your language was changed.')
  const other = web.browser()
  await other.open('/sign-in')
  await other.submit('/sign-in', { email, password: PASSWORD })
  expect(languageOf(other)).toBe('en')
})

it('calls the person usted and a deal a pedido, on every page, in every problem and in every email', async () => {
  const { readdir, readFile } = await import('node:fs/promises')
  const folder = new URL('../../../functions/web/texts/', import.meta.url)
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.ts'))
  const files = [
    ...names.map((name) => new URL(name, folder)),
    new URL('../../../shared/mail/texts.ts', import.meta.url),
    new URL('../../../shared/mail/factor-changes.ts', import.meta.url),
    new URL('../../../shared/audit/actions.ts', import.meta.url),
    new URL('../../../shared/identity/permissions.ts', import.meta.url),
  ]
  for (const file of files) {
    const text = await readFile(file, 'utf8')
    expect(
      text.match(/(?<!\p{L})(?:tú|tus|ti|contigo|eres|puedes|debes|tienes|quieres|has sido|tratos?)(?!\p{L})/giu),
      file.pathname,
    ).toBeNull()
  }
})
