import { HtmlValidate } from 'html-validate'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { pageFinder } from '#web/http/find-pages.ts'
import { PAGES } from '#web/http/pages.ts'
import { axeOf } from './axe.ts'
import { launchChromium, openWindow } from './chromium.ts'
import { type ListedState, statesOf } from './states/list.ts'
import { make, type Made } from './states/made.ts'
import { sessions } from './states/people.ts'
import { visit } from './states/visit.ts'

const stack = inject('stack')
const validator = new HtmlValidate({
  extends: ['html-validate:standard'],
  rules: { 'no-inline-style': 'error', 'no-trailing-whitespace': 'off', 'long-title': 'off' },
})

let chromium: Browser
let made: Made
let tokenOf: ReturnType<typeof sessions>
beforeAll(async () => {
  chromium = await launchChromium()
  made = await make(stack)
  tokenOf = sessions(stack)
})
afterAll(() => chromium.close())

// Colors differ between light and dark, and the layout between the widths. Spanish is the longer language, so all widths are looked at
// in it: those of two phones, of a tablet and of a desktop.
describe.each([
  ['en', { width: 1280, colorScheme: 'light' }, [1280, 360]],
  ['es', { width: 360, colorScheme: 'dark' }, [360, 320, 768, 1280]],
] as const)('every state of every page (%s, %o)', (language, look, widths) => {
  it('is what it should be, has no violation of axe, valid HTML, no message in the console, no foreign request, no sideways scroll', {
    timeout: 900_000,
  }, async () => {
    const context = await openWindow(chromium, stack.web_url, { scripts: true, ...look })
    const page = await context.newPage()
    const faults: string[] = []
    const states = statesOf(made)
    let state = states[0]
    const fault = (text: string) => faults.push(`${state?.view} (${state?.name}): ${text}`)
    page.on('console', (message) => {
      // The browser writes one about each page that is refused.
      if (!/server responded with a status of 4/.test(message.text())) fault(`console: ${message.text()}`)
    })
    page.on('pageerror', (error) => fault(`error: ${error.message}`))
    page.on('request', (request) => {
      if (!request.url().startsWith(stack.web_url)) fault(`requests ${request.url()}`)
    })
    for (state of states) {
      const { status, html } = await visit(page, state, { stack, made, language, tokenOf })
      if (status !== expectedStatus(state)) fault(`has the status ${status}`)
      if (status === 200 && pathOf(page) !== state.view) fault(`leads to ${page.url()}`)
      for (const text of [...(await axeOf(page)), ...(await markupOf(html)), ...(await sidewaysOf(page, widths))])
        fault(text)
    }
    await context.close()
    expect(faults).toEqual([])
  })
})

const find = pageFinder(PAGES)
const pathOf = (page: Page) => find(new URL(page.url()).pathname)?.pages[0]?.path

const expectedStatus = ({ status, sends }: ListedState): number => status ?? (sends === undefined ? 200 : 422)

async function markupOf(html: string): Promise<string[]> {
  const { results } = await validator.validateString(html)
  return results.flatMap(({ messages }) =>
    messages.map(({ ruleId, message, line }) => `html ${ruleId}: ${message} (line ${line})`),
  )
}

/** Looks at each width, the one of the page first. */
async function sidewaysOf(page: Page, widths: readonly number[]): Promise<string[]> {
  const before = page.viewportSize()
  const found: string[] = []
  for (const width of widths) {
    if (width !== page.viewportSize()?.width) await page.setViewportSize({ width, height: 740 })
    const excess = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    if (excess > 0) found.push(`scrolls sideways by ${excess} px at ${width} px`)
  }
  if (before !== null) await page.setViewportSize(before)
  return found
}
