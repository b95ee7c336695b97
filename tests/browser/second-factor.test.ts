import jsqr from 'jsqr'
import * as OTPAuth from 'otpauth'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from 'vitest'
import { headingOf, launchChromium, openWindow, signIn } from './chromium.ts'
import { mailTo } from './mailbox.ts'

const stack = inject('stack')
let chromium: Browser
beforeAll(async () => {
  chromium = await launchChromium()
})
afterAll(() => chromium.close())

async function window(width = 1280): Promise<Page> {
  const context = await openWindow(chromium, stack.web_url, { width })
  onTestFinished(() => context.close())
  return context.newPage()
}

interface Pixels {
  readonly data: readonly number[]
  readonly width: number
  readonly height: number
}

/** Reads the QR code of a page off a screenshot of it, as a phone does. A page of its own decodes the picture. */
async function scanned(page: Page): Promise<string> {
  const picture = (await page.locator('.qr').screenshot()).toString('base64')
  const context = await chromium.newContext()
  const decoder = await context.newPage()
  const { data, width, height } = await decoder.evaluate<Pixels>(`(async () => {
    const image = new Image()
    image.src = 'data:image/png;base64,${picture}'
    await image.decode()
    const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d')
    canvas.drawImage(image, 0, 0)
    const { data, width, height } = canvas.getImageData(0, 0, image.width, image.height)
    return { data: [...data], width, height }
  })()`)
  await context.close()
  return jsqr.default(Uint8ClampedArray.from(data), width, height)?.data ?? ''
}

/** The code that an app shows that was set up with this address, so many steps from now. */
function codeOf(uri: string, steps = 0): string {
  const app = OTPAuth.URI.parse(uri)
  return app instanceof OTPAuth.TOTP ? app.generate({ timestamp: Date.now() + steps * 30_000 }) : ''
}

it('a double click sends a code once, and signs in', async () => {
  const context = await openWindow(chromium, stack.web_url, { scripts: true })
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const { email, totp_secret: secret } = stack.second_factor
  await signIn(page, email)
  await page.getByLabel('Code').fill(new OTPAuth.TOTP({ secret }).generate())
  await page.getByRole('button', { name: 'Sign in' }).dblclick()
  await page.waitForURL(/\/s\/acme-print/)
})

it.each([1280, 320])(
  'a person sets up an app from the QR code, signs in with it, loses the phone, and sets up another (%i px)',
  async (width) => {
    const email = width === 320 ? 'viewer@bolt.test' : 'sales@bolt.test'
    const page = await window(width)
    await signIn(page, email)
    await page.goto('/account')
    await page.getByRole('link', { name: 'Second step at sign-in' }).click()
    await page.getByRole('button', { name: 'Set up an app' }).click()
    const codes = await page.locator('.codes code').allInnerTexts()
    expect(codes).toHaveLength(10)
    const uri = await scanned(page)
    expect(uri).toMatch(/^otpauth:\/\/totp\/Tenantry:/)
    await page.getByLabel('Code', { exact: true }).fill(codeOf(uri, -1))
    const { text } = await mailTo(stack, email)
    await page.getByLabel('Setup code').fill(/\b[0-9A-Z]{4}-[0-9A-Z]{4}\b/.exec(text)?.[0] ?? '')
    await page.getByRole('button', { name: 'Finish' }).click()
    expect(await page.getByRole('status').innerText()).toContain('Your authenticator app is set up.')
    const signOut = async () => {
      await page.context().clearCookies({ name: '__Host-tenantry' })
      await signIn(page, email)
      expect(await headingOf(page)).toBe('Enter the code of your app')
    }
    await signOut()
    await page.getByLabel('Code').fill(codeOf(uri))
    await page.getByRole('button', { name: 'Sign in' }).click()
    expect(await headingOf(page)).toBe('Bolt Apparel')
    await signOut()
    await page.getByRole('link', { name: 'use a recovery code' }).click()
    await page.getByLabel('Recovery code').fill(codes[0] ?? '')
    await page.getByRole('button', { name: 'Sign in' }).click()
    expect(await page.locator('main').innerText()).toContain('9 recovery codes are left.')
    await page.getByText('I do not have my phone').click()
    await page.getByLabel('Recovery code').fill(codes[1] ?? '')
    await page.getByRole('button', { name: 'Set up a new app' }).click()
    const other = await scanned(page)
    expect(other).not.toBe(uri)
    await page.getByLabel('Code', { exact: true }).fill(codeOf(other, -1))
    await page.getByRole('button', { name: 'Finish' }).click()
    expect(await page.getByRole('status').innerText()).toContain('Your authenticator app is set up.')
    await signOut()
    await page.getByLabel('Code').fill(codeOf(other))
    await page.getByRole('button', { name: 'Sign in' }).click()
    expect(await headingOf(page)).toBe('Bolt Apparel')
  },
)
