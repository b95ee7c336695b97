import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { SEED_PASSWORD } from '#infra/local/seed.ts'
import { launchChromium, openWindow, signIn } from './chromium.ts'

const stack = inject('stack')
let chromium: Browser
beforeAll(async () => {
  chromium = await launchChromium()
})
afterAll(() => chromium.close())

it('shows and hides a password by a button, sends it hidden, and has no button without scripts', async () => {
  const context = await openWindow(chromium, stack.web_url, { scripts: true })
  const page = await context.newPage()
  await page.goto('/sign-in')
  await page.getByLabel('Email address').fill('designer@acme.test')
  await page.getByLabel('Password').fill(SEED_PASSWORD)
  const type = () => page.locator('#field-password').getAttribute('type')
  expect(await type()).toBe('password')
  await page.getByRole('button', { name: 'Show' }).click()
  expect(await type()).toBe('text')
  await page.getByRole('button', { name: 'Hide' }).click()
  expect(await type()).toBe('password')
  await page.getByRole('button', { name: 'Show' }).click()
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(/\/s\/acme-print/)
  await context.close()
  const plain = await openWindow(chromium, stack.web_url)
  const other = await plain.newPage()
  await other.goto('/sign-in')
  expect(await other.getByRole('button', { name: 'Show' }).count()).toBe(0)
  await signIn(other, 'designer@acme.test')
  await plain.close()
})

it('says that a slow form is on its way, sends it once, and lets a person who stopped it send it again', async () => {
  const context = await openWindow(chromium, stack.web_url, { scripts: true })
  const page = await context.newPage()
  await page.clock.install()
  await page.goto('/forgot-password')
  // The response never comes.
  let sent = 0
  await page.exposeFunction('onSent', () => {
    sent += 1
  })
  await page.evaluate(`addEventListener('submit', (event) => {
    if (!event.defaultPrevented) onSent()
    event.preventDefault()
  })`)
  const press = () => page.getByRole('button', { name: 'Send the link' }).click()
  const status = page.getByRole('status')
  const busy = page.locator('button[aria-busy=true]')
  await press()
  expect([await status.innerText(), await busy.count()]).toEqual(['', 0])
  await page.clock.runFor(600)
  expect([await status.innerText(), await busy.count()]).toEqual(['Working…', 1])
  await press()
  expect([sent, await status.count()]).toEqual([1, 1])
  await page.clock.runFor(10_000)
  expect([await status.count(), await busy.count()]).toEqual([0, 0])
  await press()
  expect([sent, await status.count()]).toEqual([2, 1])
  await page.evaluate(`dispatchEvent(new Event('pageshow'))`)
  expect(await status.count()).toBe(0)
  await press()
  expect(sent).toBe(3)
  await context.close()
})
