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
  await page.getByLabel('Email address').fill('sales@acme.test')
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
  await signIn(other, 'sales@acme.test')
  await plain.close()
})
