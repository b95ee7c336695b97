import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from 'vitest'
import { axeOf } from './axe.ts'
import { headingOf, launchChromium, openWindow, signIn } from './chromium.ts'
import { mailTo } from './mailbox.ts'

const stack = inject('stack')
let chromium: Browser
let sql: postgres.Sql
beforeAll(async () => {
  chromium = await launchChromium()
  sql = postgres(stack.database_url, { max: 1, onnotice: () => {} })
})
afterAll(async () => {
  await chromium.close()
  await sql.end()
})

const SECOND_FACTOR = '/account/second-factor'
const REFUSED = 'The passkey did not work. Try again, or use a code.'

/** A window with scripts, and what its console and its pages complained of. */
async function windowWithScripts(): Promise<{ context: BrowserContext; page: Page; complaints: string[] }> {
  const context = await openWindow(chromium, stack.web_url, { scripts: true })
  onTestFinished(() => context.close())
  const complaints: string[] = []
  const page = await context.newPage()
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  return { context, page, complaints }
}

interface Device {
  readonly verify: (isUser: boolean) => Promise<void>
  /** Whether somebody touches the device when it asks. */
  readonly touch: (does: boolean) => Promise<void>
  readonly count: () => Promise<number>
}

/** Gives the page a device that keeps passkeys. */
async function addDevice(page: Page): Promise<Device> {
  const devtools: CDPSession = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    verify: async (isUser) => {
      await devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: isUser })
    },
    touch: async (does) => {
      await devtools.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled: does })
    },
    count: async () => (await devtools.send('WebAuthn.getCredentials', { authenticatorId })).credentials.length,
  }
}

/** Ends the step-up of each session of the person, as time does. */
const anHourLater = (email: string) => sql`
  update app.sessions set stepped_up_at = stepped_up_at - interval '1 hour', created_at = created_at - interval '1 hour',
         absolute_expires_at = absolute_expires_at - interval '1 hour'
   where user_id = (select id from app.users where email = ${email})`

/** Signs in, and adds a passkey as the first factor. */
async function addFirst(page: Page, email: string): Promise<void> {
  await signIn(page, email)
  await page.goto(SECOND_FACTOR)
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  const { text } = await mailTo(stack, email)
  await page.getByLabel('Setup code').fill(/\b[0-9A-Z]{4}-[0-9A-Z]{4}\b/.exec(text)?.[0] ?? '')
  await page.getByRole('button', { name: 'Make the passkey' }).click()
  await page.getByText('The passkey was added.').waitFor()
}

it('a person adds a passkey, signs in by it in two ways, proves their presence by it, and removes it', async () => {
  const email = 'production@acme.test'
  const { context, page, complaints } = await windowWithScripts()
  const device = await addDevice(page)
  await signIn(page, email)
  await page.goto(SECOND_FACTOR)
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  expect(await page.locator('.codes code').count()).toBe(10)
  expect(await page.getByText('This browser cannot make passkeys here.').isVisible()).toBe(false)
  expect(await axeOf(page)).toEqual([])
  await device.verify(false)
  await page.getByLabel('Name').fill('Work laptop')
  await page.getByRole('button', { name: 'Make the passkey' }).click()
  await page.getByRole('alert').filter({ hasText: REFUSED }).waitFor()
  await device.verify(true)
  const { text } = await mailTo(stack, email)
  await page.getByLabel('Setup code').fill(/\b[0-9A-Z]{4}-[0-9A-Z]{4}\b/.exec(text)?.[0] ?? '')
  await page.getByLabel('Setup code').press('Enter')
  await page.getByText('The passkey was added.').waitFor()
  expect(await page.locator('table').innerText()).toContain('Work laptop')
  expect(await device.count()).toBe(1)

  await device.touch(false)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.goto('/sign-in')
  expect(await axeOf(page)).toEqual([])
  await device.touch(true)
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.waitForURL(/\/s\/acme-print/)

  await page.getByRole('button', { name: 'Sign out' }).click()
  await device.touch(false)
  await signIn(page, email)
  expect(await headingOf(page)).toBe('Confirm that it is you')
  expect(await axeOf(page)).toEqual([])
  await device.touch(true)
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.waitForURL(/\/s\/acme-print/)

  await anHourLater(email)
  const other = await context.newPage()
  await other.goto('/account/sessions')
  await page.goto(`${SECOND_FACTOR}/recovery-codes`)
  expect(await axeOf(page)).toEqual([])
  await device.verify(false)
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByRole('alert').filter({ hasText: REFUSED }).waitFor()
  await device.verify(true)
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.locator('.codes').waitFor()
  await other.reload()
  expect(await headingOf(other)).toBe('Where you are signed in')

  await anHourLater(email)
  await page.goto(SECOND_FACTOR)
  await page.getByRole('link', { name: 'Remove Work laptop' }).click()
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByText('The passkey was removed.').waitFor()
  expect(complaints).toEqual([])
})

it('the browser offers passkeys at the email field, and at a page that was left open for long', async () => {
  const { page, complaints } = await windowWithScripts()
  const device = await addDevice(page)
  await addFirst(page, 'production@bolt.test')
  await device.touch(false)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.clock.install()
  await page.goto('/sign-in')
  const challenge = () => page.locator('script').getAttribute('data-passkey')
  const first = await challenge()
  const comeBack = () => page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
  await comeBack()
  await page.clock.fastForward('11:00')
  await page.getByLabel('Email address').fill('production@bolt.test')
  await comeBack()
  expect(await challenge()).toBe(first)
  await page.getByLabel('Email address').fill('')
  await Promise.all([page.waitForEvent('load'), comeBack()])
  expect(await challenge()).not.toBe(first)
  await device.touch(true)
  await page.goto('/sign-in', { waitUntil: 'commit' })
  await page.waitForURL(/\/s\/bolt-apparel/)
  expect(complaints).toEqual([])
})

it('a second click asks the device once more, and says nothing of the first', async () => {
  const { page, complaints } = await windowWithScripts()
  const device = await addDevice(page)
  await addFirst(page, 'account@acme.test')
  await device.touch(false)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.goto('/sign-in')
  const button = page.getByRole('button', { name: 'Use a passkey' })
  await button.dblclick()
  // Chromium ends the first request in a later task.
  await page.waitForTimeout(1000)
  expect(await page.getByRole('alert').isVisible()).toBe(false)
  await device.touch(true)
  await button.click()
  await page.waitForURL(/\/s\/acme-print/)
  expect(complaints).toEqual([])
})

it('a page that says what was wrong sends nothing again when somebody comes back to it', async () => {
  const { page } = await windowWithScripts()
  await addDevice(page)
  await page.clock.install()
  await page.goto('/sign-in')
  await page.evaluate(`document.querySelector('form[action="/sign-in/passkey"]').submit()`)
  await page.locator('.summary').waitFor()
  const sent: string[] = []
  page.on('request', (request) => sent.push(request.url()))
  await page.clock.fastForward('11:00')
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
  await page.waitForTimeout(1000)
  expect(sent).toEqual([])
})

it('leaves out the user handle that a device answers as no bytes', async () => {
  const { page } = await windowWithScripts()
  await page.addInitScript(`
    const [none, some] = [new ArrayBuffer(0), new ArrayBuffer(1)]
    const response = { clientDataJSON: some, authenticatorData: some, signature: some, userHandle: none }
    navigator.credentials.get = async () => ({ id: 'AA', rawId: some, type: 'public-key', response })
    addEventListener('submit', (event) => event.preventDefault())`)
  await page.goto('/sign-in')
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  const credential = page.locator('[name=credential]')
  await expect.poll(() => credential.inputValue()).toContain('"signature":"AA"')
  expect(await credential.inputValue()).not.toContain('userHandle')
})

it('sends a form once where passkeys fail', async () => {
  const { page } = await windowWithScripts()
  await page.addInitScript(
    "PublicKeyCredential.isConditionalMediationAvailable = () => { throw new Error('not here') }",
  )
  await page.goto('/sign-in')
  const prevented = await page.evaluate(`(() => {
    const seen = []
    const form = document.querySelector('form[action="/sign-in"]')
    addEventListener('submit', (event) => { seen.push(event.defaultPrevented); event.preventDefault() })
    form.requestSubmit()
    form.requestSubmit()
    return seen
  })()`)
  expect(prevented).toEqual([false, true])
})

it('has no button of passkeys without scripts, nor at an address whose passkeys are of another host', async () => {
  const button = (page: Page) => page.getByRole('button', { name: 'Use a passkey' }).isVisible()
  const context = await openWindow(chromium, stack.web_url)
  onTestFinished(() => context.close())
  const plain = await context.newPage()
  await plain.goto('/sign-in')
  const { page } = await windowWithScripts()
  await page.goto('/sign-in')
  const shown = [await button(plain), await button(page)]
  await page.goto(`${stack.web_url.replace('localhost', '127.0.0.1')}/sign-in`)
  expect([...shown, await button(page)]).toEqual([false, true, false])
})
