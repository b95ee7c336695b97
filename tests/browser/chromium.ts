import chromiumOfNpm from '@sparticuz/chromium'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { SEED_PASSWORD } from '#infra/local/seed.ts'

/** Starts Chromium: the one that `CHROMIUM` names, or the one of the npm package. */
export const launchChromium = async (): Promise<Browser> =>
  chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? (await chromiumOfNpm.executablePath()),
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  })

/** A window without cookies, and without scripts unless a tool needs them. `ip` is the address that the gateway sees. */
export const openWindow = async (
  browser: Browser,
  baseURL: string,
  {
    scripts = false,
    ip,
    ...look
  }: { scripts?: boolean; ip?: string; locale?: string; width?: number; colorScheme?: 'light' | 'dark' } = {},
): Promise<BrowserContext> =>
  browser.newContext({
    baseURL,
    javaScriptEnabled: scripts,
    locale: look.locale ?? 'en-US',
    viewport: { width: look.width ?? 1280, height: 900 },
    colorScheme: look.colorScheme ?? 'light',
    ...(ip === undefined ? {} : { extraHTTPHeaders: { 'x-forwarded-for': ip } }),
  })

/** Signs in by the form, and waits for the page that follows. */
export async function signIn(page: Page, email: string, password: string = SEED_PASSWORD): Promise<void> {
  await page.goto('/sign-in')
  await fillSignIn(page, email, password)
}

/** Signs in by the form that is shown, and waits for the page that follows. */
export async function fillSignIn(page: Page, email: string, password: string = SEED_PASSWORD): Promise<void> {
  await page.getByLabel('Email address').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

export const headingOf = (page: Page): Promise<string> => page.getByRole('heading', { level: 1 }).innerText()
