import type { Browser } from 'playwright-core'
import type { StackInfo } from '#infra/local/stack.ts'
import { openWindow, signIn } from './chromium.ts'
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
