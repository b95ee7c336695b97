import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { HtmlValidate } from 'html-validate'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { SEED_PASSWORD } from '#infra/local/seed.ts'
import { launchChromium, openWindow } from './chromium.ts'
import { crawl, VIEWS } from './crawl.ts'
import { furnish, OWNER_PAGES, signInSecured } from './setting.ts'

const stack = inject('stack')
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const validator = new HtmlValidate({
  extends: ['html-validate:standard'],
  rules: { 'no-inline-style': 'error', 'no-trailing-whitespace': 'off', 'long-title': 'off' },
})

/** The violations that axe finds on the page that is shown, as text. */
declare const axe: { run: () => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }

let chromium: Browser
let addresses: readonly string[]
beforeAll(async () => {
  chromium = await launchChromium()
  addresses = await furnish(chromium, stack)
})
afterAll(() => chromium.close())

describe.each([
  ['English, light, 1280 px', { width: 1280, colorScheme: 'light', language: 'English', code: 0 }],
  ['Spanish, dark, 320 px', { width: 320, colorScheme: 'dark', language: 'Español', code: 2 }],
] as const)('every page (%s)', (_name, { language, code, ...look }) => {
  it('has no violation of axe, valid HTML, no message in the console, no foreign request, no sideways scroll', async () => {
    const context = await openWindow(chromium, stack.web_url, { scripts: true, ...look })
    const page = await context.newPage()
    const faults: string[] = []
    page.on('console', (message) => {
      // A page without a link is refused, and the browser says so.
      if (!/status of 422/.test(message.text())) faults.push(`${page.url()} console: ${message.text()}`)
    })
    page.on('pageerror', (error) => faults.push(`${page.url()} error: ${error.message}`))
    page.on('request', (request) => {
      if (!request.url().startsWith(stack.web_url)) faults.push(`${page.url()} requests ${request.url()}`)
    })
    await page.goto('/sign-in')
    await page.getByRole('button', { name: language }).click()
    const examine = async (view: string) => {
      const { violations } = await page
        .evaluate(`${AXE}; axe.run()`)
        .then((result) => result as Awaited<ReturnType<typeof axe.run>>)
      for (const { id, nodes } of violations)
        faults.push(`${view} axe ${id}: ${nodes.map(({ html }) => html).join(' ')}`)
      const sideways = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      if (sideways > 0) faults.push(`${view} scrolls sideways by ${sideways} px`)
      const html = await page.request.get(page.url()).then((response) => response.text())
      const { results } = await validator.validateString(html)
      for (const { messages } of results)
        for (const { ruleId, message, line } of messages)
          faults.push(`${view} html ${ruleId}: ${message} (line ${line})`)
    }
    const before = await crawl(page, addresses, examine)
    await signInAs(page)
    const after = await crawl(page, OWNER_PAGES, examine)
    const met = new Set<string>()
    const visit = (view: string) => {
      met.add(view)
      return examine(view)
    }
    const codes = stack.second_factor.recovery_codes.slice(code)
    for (const view of await crawl(page, await signInSecured(page, stack, { codes, visit }), examine)) met.add(view)
    await context.close()
    expect(faults).toEqual([])
    expect(
      VIEWS.map(({ path }) => path).filter((path) => !before.has(path) && !after.has(path) && !met.has(path)),
    ).toEqual([])
  })

  const signInAs = async (page: Page) => {
    await page.goto('/sign-in')
    await page.locator('#field-email').fill('owner@acme.test')
    await page.locator('#field-password').fill(SEED_PASSWORD)
    await page.locator('main form button').click()
  }
})
