import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { renderHtml } from '#shared/mail/email-message.ts'
import { launchChromium } from './chromium.ts'
import { everyMail } from './every-mail.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
declare const axe: { run: () => Promise<{ violations: { id: string }[] }> }

let chromium: Browser
beforeAll(async () => {
  chromium = await launchChromium()
})
afterAll(() => chromium.close())

describe.each(['light', 'dark'] as const)('every mail at 360 px, %s', (colorScheme) => {
  it.each(everyMail())(
    '%s has no sideways scroll, no violation of axe and a button as high as a finger',
    async (_name, mail) => {
      const context = await chromium.newContext({ viewport: { width: 360, height: 740 }, colorScheme })
      const page = await context.newPage()
      const requests: string[] = []
      page.on('request', (request) => requests.push(request.url()))
      await page.setContent(renderHtml(mail))
      const sideways = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      const { violations } = (await page.evaluate(
        `${AXE}; axe.run({ rules: { region: { enabled: false }, 'landmark-one-main': { enabled: false }, 'page-has-heading-one': { enabled: false } } })`,
      )) as Awaited<ReturnType<typeof axe.run>>
      expect([sideways, violations.map(({ id }) => id), requests]).toEqual([0, [], []])
      const button = page.locator('a.button')
      if ((await button.count()) > 0) expect((await button.boundingBox())?.height).toBeGreaterThanOrEqual(44)
      const ground = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
      expect(ground).toBe(colorScheme === 'dark' ? 'rgb(18, 21, 27)' : 'rgb(246, 247, 249)')
      await context.close()
    },
  )
})
