import type { Browser, Page } from 'playwright-core'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { SEED_PASSWORD } from '#infra/local/seed.ts'
import { fillSignIn, headingOf, launchChromium, openWindow, signIn } from './chromium.ts'
import { linkIn, mailTo } from './mailbox.ts'
import { connectVendor } from './setting.ts'
import { STACK_ENV } from './stack-env.ts'

const stack = inject('stack')
let chromium: Browser
beforeAll(async () => {
  chromium = await launchChromium()
})
afterAll(() => chromium.close())

/** A window of a person, without scripts. */
async function window(options: { ip?: string } = {}): Promise<Page> {
  const context = await openWindow(chromium, stack.web_url, options)
  onTestFinished(() => context.close())
  return context.newPage()
}

const choose = (page: Page, shop: string) =>
  page
    .getByRole('main')
    .getByRole('button', { name: new RegExp(shop) })
    .click()

interface Focused {
  readonly labels?: Iterable<{ readonly textContent: string }> | null
  readonly textContent: string
}

const rowOf = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text })

describe('signing in', () => {
  it('leads to the only shop, to a choice of two, and to a page that says whom to ask', async () => {
    const page = await window()
    await signIn(page, 'viewer@acme.test')
    expect(await headingOf(page)).toBe('Acme Print')
    const two = await window()
    await signIn(two, 'both@shops.test')
    expect(await headingOf(two)).toBe('Choose a shop')
    await choose(two, 'Bolt Apparel')
    expect(await headingOf(two)).toBe('Bolt Apparel')
    const none = await window()
    await signIn(none, 'nobody@shops.test')
    expect(await none.getByText('nobody@shops.test').count()).toBeGreaterThan(0)
    expect(await headingOf(none)).toBe('Choose a shop')
  })

  it('has one text for every refusal, and no cookie of a session', async () => {
    const page = await window()
    const texts = new Set<string>()
    for (const [email, password] of [
      ['owner@acme.test', 'a wrong password'],
      ['unknown@acme.test', SEED_PASSWORD],
      ['no address', SEED_PASSWORD],
    ] as const) {
      await signIn(page, email, password)
      texts.add(await page.getByRole('alert').innerText())
      expect(await page.title()).toMatch(/^Error:/)
    }
    expect(texts.size).toBe(1)
    expect((await page.context().cookies()).map(({ name }) => name)).not.toContain('__Host-tenantry')
  })

  it('says when to try again after too many attempts, and only at the address that made them', async () => {
    const [ip, email] = ['192.0.2.1', 'admin@acme.test']
    const attempt = () =>
      fetch(`${stack.gateway_url}/v1/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': ip },
        body: JSON.stringify({ email, password: 'a wrong password' }),
      })
    await Promise.all(Array.from({ length: Number(STACK_ENV.LOGIN_EMAIL_LIMIT) }, attempt))
    // One more is allowed when the next window of the limit has begun meanwhile.
    while ((await attempt()).status === 401);
    const page = await window({ ip })
    const answered = page.waitForResponse((response) => response.request().method() === 'POST')
    await signIn(page, email)
    const response = await answered
    expect([response.status(), Number(response.headers()['retry-after'])]).toEqual([429, expect.any(Number)])
    expect(await page.title()).toMatch(/^Error:/)
    expect(await page.getByRole('alert').innerText()).toMatch(/\d+ (second|minute)s?/)
    const elsewhere = await window({ ip: '198.51.100.1' })
    await signIn(elsewhere, email)
    expect(await headingOf(elsewhere)).toBe('Acme Print')
  })

  it.each([
    '//evil.test/',
    '///evil.test/',
    '/\\evil.test/',
    '\\\\evil.test/',
    'https://evil.test/',
    'javascript:alert(1)',
    'data:text/html,evil',
    '/%09/evil.test/',
  ])('leads to no other site by next=%s', async (next) => {
    const page = await window()
    const foreign: string[] = []
    page.on('request', (request) => {
      if (!request.url().startsWith(stack.web_url)) foreign.push(request.url())
    })
    await page.goto(`/sign-in?next=${encodeURIComponent(next)}`)
    await fillSignIn(page, 'viewer@acme.test')
    expect([page.url(), foreign]).toEqual([`${stack.web_url}/s/acme-print`, []])
  })

  it('keeps the cookies from scripts and from other sites', async () => {
    const page = await window()
    await signIn(page, 'owner@acme.test')
    const cookies = await page.context().cookies()
    expect(cookies.map(({ name }) => name)).toEqual(expect.arrayContaining(['__Host-tenantry', '__Host-tenantry-csrf']))
    for (const cookie of cookies)
      expect(cookie).toMatchObject({ httpOnly: true, secure: true, sameSite: 'Lax', path: '/' })
    await page.getByRole('button', { name: 'Sign out' }).click()
    expect(await headingOf(page)).toBe('Sign in')
    expect((await page.context().cookies()).map(({ name }) => name)).not.toContain('__Host-tenantry')
  })
})

describe('invitations', () => {
  it('lead a newcomer and an existing user into the shop, whose next click obeys a change and a removal', async () => {
    const owner = await window()
    await signIn(owner, 'owner@acme.test')
    const invite = async (email: string) => {
      await owner.getByRole('link', { name: 'Invitations' }).first().click()
      await owner.getByLabel('Email address').fill(email)
      await owner.getByRole('radio', { name: /^Viewer/ }).check()
      await owner.getByRole('button', { name: 'Send invitations' }).click()
      expect(await owner.getByRole('status').innerText()).toContain('on its way')
    }
    await invite('newcomer@browser.test')
    const newcomer = await window()
    await newcomer.goto(linkIn(await mailTo(stack, 'newcomer@browser.test')))
    expect(newcomer.url()).not.toContain('token')
    expect(await newcomer.locator('main').innerText()).toContain('Acme Print')
    await newcomer.getByLabel('Name').fill('Nell Newcomer')
    await newcomer
      .getByLabel(/password/i)
      .first()
      .fill('a passphrase for newcomers')
    await newcomer.locator('main form').getByRole('button').first().click()
    expect(await headingOf(newcomer)).toBe('Acme Print')
    expect(await newcomer.getByRole('status').innerText()).toBe('You joined Acme Print. Your role there is Viewer.')

    await owner.getByRole('link', { name: 'Members' }).first().click()
    await rowOf(owner, 'Nell Newcomer')
      .getByRole('link', { name: /Change role/ })
      .click()
    await owner.getByRole('radio', { name: /^Admin/ }).check()
    await owner.getByRole('button', { name: 'Change role' }).click()
    await newcomer.reload()
    expect(await newcomer.getByRole('link', { name: 'Members' }).count()).toBeGreaterThan(0)
    await rowOf(owner, 'Nell Newcomer')
      .getByRole('link', { name: /Remove/ })
      .click()
    expect(await headingOf(owner)).toBe('Remove Nell Newcomer?')
    await owner.getByRole('button', { name: 'Remove from the shop' }).click()
    expect(await rowOf(owner, 'Nell Newcomer').count()).toBe(0)
    await newcomer.reload()
    expect(await headingOf(newcomer)).toBe('Sign in')

    await invite('nobody@shops.test')
    const existing = await window()
    await existing.goto(linkIn(await mailTo(stack, 'nobody@shops.test')))
    await existing.locator('main form').getByRole('button').first().click()
    await signIn(existing, 'nobody@shops.test')
    expect(await headingOf(existing)).toBe('Acme Print')
  })

  it('that are cancelled meanwhile say that their link is invalid', async () => {
    const owner = await window()
    await signIn(owner, 'owner@bolt.test')
    await owner.goto('/s/bolt-apparel/invitations')
    await owner.getByLabel('Email address').fill('late@browser.test')
    await owner.getByRole('button', { name: 'Send invitations' }).click()
    const late = await window()
    await late.goto(linkIn(await mailTo(stack, 'late@browser.test')))
    await rowOf(owner, 'late@browser.test')
      .getByRole('button', { name: /Cancel/ })
      .click()
    await late.getByLabel('Name').fill('Lou Late')
    await late
      .getByLabel(/password/i)
      .first()
      .fill('a passphrase for newcomers')
    await late.locator('main form').getByRole('button').first().click()
    expect(await late.locator('main').innerText()).toContain('invalid or has expired')
  })
})

describe('a forgotten password', () => {
  it('is replaced by the link of the mail, once, and not by a weak one', async () => {
    const page = await window()
    await page.goto('/sign-in')
    await page.getByRole('link', { name: 'I forgot my password' }).click()
    await page.getByLabel('Email address').fill('designer@bolt.test')
    await page.locator('main form').getByRole('button').click()
    const link = linkIn(await mailTo(stack, 'designer@bolt.test'))
    await page.goto(link)
    const set = async (password: string) => {
      await page
        .getByLabel(/password/i)
        .first()
        .fill(password)
      await page.locator('main form').getByRole('button').click()
    }
    await set('password')
    expect(await page.title()).toMatch(/^Error:/)
    await set('another fine passphrase here')
    expect(await headingOf(page)).toBe('Bolt Apparel')
    await signIn(await window(), 'designer@bolt.test', 'another fine passphrase here')
    const again = await window()
    await again.goto(link)
    expect(await headingOf(again)).toBe('This link is invalid or has expired')
    expect(await again.locator('main').innerText()).toContain('sign in with that password')
  })
})

it('asks for another link in the place of one that has expired', async () => {
  const page = await window()
  await page.goto('/forgot-password')
  await page.getByLabel('Email address').fill('sales@acme.test')
  await page.locator('main form').getByRole('button').click()
  const link = linkIn(await mailTo(stack, 'sales@acme.test'))
  await page.goto(link)
  const sql = postgres(stack.database_url, { max: 1 })
  await sql`update app.tokens t set expires_at = now() from app.users u where u.id = t.user_id and u.email = 'sales@acme.test'`
  await sql.end()
  await page
    .getByLabel(/password/i)
    .first()
    .fill('a passphrase that comes late')
  await page.locator('main form').getByRole('button').click()
  expect(await headingOf(page)).toBe('This link is invalid or has expired')
  await page.getByRole('main').getByRole('link').first().click()
  expect(new URL(page.url()).pathname).toBe('/forgot-password')
})

it('says that the service is unavailable while the API fails, and keeps the session', async () => {
  const page = await window()
  await signIn(page, 'owner@acme.test')
  await page.goto('/s/acme-print/members')
  const setDatabase = async (mode: 'refuse' | 'ok') => {
    const body = JSON.stringify({ part: 'postgres', mode })
    expect((await fetch(`${stack.control_url}/faults`, { method: 'POST', body })).status).toBe(200)
  }
  onTestFinished(() => setDatabase('ok'))
  await setDatabase('refuse')
  const failed = await page.reload()
  expect([failed?.status(), failed?.headers()['retry-after']]).toEqual([503, '1'])
  expect(await page.locator('main').innerText()).toContain(failed?.headers()['x-request-id'])
  await setDatabase('ok')
  // The pool closes the connections that broke as they are used.
  await expect.poll(async () => (await page.reload())?.status(), { timeout: 20_000 }).toBe(200)
  expect(await rowOf(page, 'owner@acme.test').count()).toBe(1)
})

it('does not mix two shops in two tabs', async () => {
  const page = await window()
  await signIn(page, 'both@shops.test')
  await choose(page, 'Acme Print')
  const tab = await page.context().newPage()
  const response = await tab.goto('/s/bolt-apparel')
  expect(response?.status()).toBe(409)
  expect(await tab.locator('main').innerText()).toContain('You are now acting in Acme Print')
  await tab.getByRole('button', { name: 'Switch to Bolt Apparel' }).click()
  expect(await headingOf(tab)).toBe('Bolt Apparel')
  expect((await page.reload())?.status()).toBe(409)
})

it('shows a sync of a vendor as it grows, in a page that loads again only when asked', async () => {
  expect(await connectVendor(chromium, stack, 'owner@bolt.test', 'bolt-apparel')).toContain('accepted')
  const page = await window()
  await signIn(page, 'owner@bolt.test')
  await page.goto('/s/bolt-apparel/vendor-accounts')
  expect(await page.content()).not.toContain(stack.vendors[0]?.secret ?? 'a secret')
  await page
    .getByRole('button', { name: /Sync now/ })
    .first()
    .click()
  expect(await headingOf(page)).toMatch(/^Sync of /)
  await expect
    .poll(
      async () => {
        const again = page.getByRole('link', { name: 'Load again' })
        if ((await again.count()) > 0) await again.click()
        return page.getByText('Finished', { exact: true }).count()
      },
      { timeout: 60_000 },
    )
    .toBeGreaterThan(0)
})

it('is usable with the keyboard alone, from the sign-in to an invitation', async () => {
  const page = await window()
  await page.goto('/sign-in')
  const tabTo = async (name: RegExp) => {
    for (let steps = 0; steps < 60; steps += 1) {
      await page.keyboard.press('Tab')
      const focused = page.locator(':focus')
      const label = await focused.evaluate((element) => {
        const { labels, textContent } = element as unknown as Focused
        return Array.from(labels ?? [], (labelled) => labelled.textContent).join() || textContent
      })
      if (name.test(label.trim())) return
    }
    throw new Error(`the keyboard does not reach ${String(name)}`)
  }
  await tabTo(/^Email address/)
  await page.keyboard.type('admin@bolt.test')
  await tabTo(/^Password/)
  await page.keyboard.type(SEED_PASSWORD)
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/s\/bolt-apparel/)
  await tabTo(/^Invitations/)
  await page.keyboard.press('Enter')
  await page.waitForURL(/invitations/)
  await tabTo(/^Email address/)
  await page.keyboard.type('keys@browser.test')
  await tabTo(/^Send invitations/)
  await page.keyboard.press('Enter')
  await page.getByText('on its way').waitFor()
  expect(linkIn(await mailTo(stack, 'keys@browser.test'))).not.toBe('')
})
