import type { Browser } from 'playwright-core'
import type { StackInfo } from '#infra/local/stack.ts'
import { openWindow, signIn } from './chromium.ts'

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
