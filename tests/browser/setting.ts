import type { Browser, Page } from 'playwright-core'
import type { StackInfo } from '#infra/local/stack.ts'
import { openWindow, signIn } from './chromium.ts'
import { SEED_PASSWORD } from '#infra/local/seed.ts'
import { linkIn, mailTo } from './mailbox.ts'

/** The owner's pages from which links lead to all others. */
export const OWNER_PAGES = ['/', '/shops', '/account', '/s/acme-print'] as const

/** Gives the seeded shop one of everything that its pages show. Returns the addresses of pages for somebody who is not signed in. */
export async function furnish(browser: Browser, stack: StackInfo): Promise<string[]> {
  const context = await openWindow(browser, stack.web_url)
  const page = await context.newPage()
  await page.goto('/forgot-password')
  await page.getByLabel('Email address').fill('account@acme.test')
  await page.locator('main form').getByRole('button').click()
  await signIn(page, 'owner@acme.test')
  await page.goto('/s/acme-print/invitations')
  await page.getByLabel('Email address').fill('page@browser.test')
  await page.getByRole('button', { name: 'Send invitations' }).click()
  await connectVendor(browser, stack, 'owner@acme.test', 'acme-print')
  await page.goto('/s/acme-print/roles/new')
  await page.getByLabel('Name').fill('Night shift')
  await page.getByLabel('Code').fill('night-shift')
  await page.getByRole('button', { name: 'Add the role' }).click()
  await context.close()
  const links = [linkIn(await mailTo(stack, 'account@acme.test')), linkIn(await mailTo(stack, 'page@browser.test'))]
  return ['/sign-in', '/forgot-password', '/verify-email', '/problems/last-owner', ...links]
}

/**
 * Signs in as the person with an authenticator app, by recovery codes that nobody has used yet, who begins to set up another app. Calls
 * `visit` on the pages on the way. Returns the addresses of the pages that follow.
 */
export async function signInSecured(
  page: Page,
  { second_factor: { email } }: StackInfo,
  { codes: [first = '', second = ''], visit }: { codes: readonly string[]; visit: (view: string) => Promise<void> },
): Promise<string[]> {
  await page.context().clearCookies({ name: '__Host-tenantry' })
  await page.goto('/sign-in')
  await page.locator('#field-email').fill(email)
  await page.locator('#field-password').fill(SEED_PASSWORD)
  await page.locator('main form button[type=submit]').click()
  await visit('/sign-in/second-factor')
  await page.goto('/sign-in/recovery-code')
  await visit('/sign-in/recovery-code')
  await page.locator('#field-recovery_code').fill(first)
  await page.locator('main form button[type=submit]').click()
  await visit('/account/second-factor')
  await page.locator('main form summary').click()
  await page.locator('#field-proof_recovery_code').fill(second)
  await page.locator('main form button[type=submit]').click()
  await page.locator('.qr').waitFor()
  const base = '/account/second-factor'
  return [`${base}/app`, base, `${base}/recovery-codes`, '/account/confirm']
}

/** Connects the account that the local vendor accepts. Returns what the page says. */
export async function connectVendor(browser: Browser, stack: StackInfo, email: string, slug: string): Promise<string> {
  const context = await openWindow(browser, stack.web_url)
  const page = await context.newPage()
  await signIn(page, email)
  await page.goto(`/s/${slug}/vendor-accounts/new`)
  const [vendor] = stack.vendors
  await page.getByRole('combobox', { name: 'Vendor' }).selectOption(vendor?.code ?? '')
  await page.getByLabel('Account number').fill(vendor?.account_number ?? '')
  await page.getByLabel('API key or password').fill(vendor?.secret ?? '')
  await page.getByRole('button', { name: 'Connect' }).click()
  const notice = await page.getByRole('status').innerText()
  await context.close()
  return notice
}
