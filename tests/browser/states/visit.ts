import type { BrowserContext, Page, Response } from 'playwright-core'
import { SEED_PASSWORD } from '#infra/local/seed.ts'
import type { StackInfo } from '#infra/local/stack.ts'
import { COOKIES } from '#web/http/cookies.ts'
import type { Language } from '#shared/schema/language.ts'
import type { ListedState, Sent } from './list.ts'
import type { Made } from './made.ts'
import type { Person } from './people.ts'

export interface Visited {
  readonly status: number
  /** The markup, as it came. */
  readonly html: string
}

interface Visit {
  readonly stack: StackInfo
  readonly made: Made
  readonly language: Language
  readonly tokenOf: (person: Person) => Promise<string | null>
}

/** Opens a state in a page whose context may run scripts. It forgets the state before. */
export async function visit(
  page: Page,
  state: ListedState,
  { stack, made, language, tokenOf }: Visit,
): Promise<Visited> {
  await state.before?.(stack)
  const context = page.context()
  await context.clearCookies()
  await setCookies(context, stack, { session: await tokenOf(state), lang: language })
  if (state.owes !== undefined) {
    await page.goto('/sign-in')
    await send(page, { to: () => '/sign-in', values: { email: state.owes, password: SEED_PASSWORD } }, made)
  }
  let shown = await page.goto(state.at(made))
  if (state.sends !== undefined) shown = await send(page, state.sends, made)
  if (shown === null) throw new Error(`no response of ${state.view} (${state.name})`)
  return { status: shown.status(), html: await shown.text() }
}

const setCookies = (
  context: BrowserContext,
  { web_url }: StackInfo,
  values: { session: string | null; lang: string },
) =>
  context.addCookies(
    Object.entries(values).flatMap(([name, value]) =>
      value === null
        ? []
        : [
            {
              name: COOKIES[name as keyof typeof values].name,
              value,
              domain: new URL(web_url).hostname,
              path: '/',
              secure: true,
              httpOnly: true,
              sameSite: 'Lax' as const,
            },
          ],
    ),
  )

/** A form, as the browser knows it. */
interface Form {
  readonly querySelectorAll: (selector: string) => Iterable<{ value: string }>
  readonly submit: () => void
}

/** Fills a form in and sends it. Returns the response of the page that follows. */
async function send(page: Page, { to, values = {}, old }: Sent, made: Made): Promise<Response | null> {
  const form = page.locator(`form[method=post][action="${to(made)}"]`).first()
  await form.evaluate(
    (element, { filled, isOld }) => {
      for (const [name, value] of Object.entries({ ...filled, ...(isOld ? { csrf: '' } : {}) }))
        for (const field of (element as unknown as Form).querySelectorAll(`[name="${name}"]`)) field.value = value
    },
    { filled: values, isOld: old === true },
  )
  const [response] = await Promise.all([
    page.waitForResponse((answer) => answer.request().isNavigationRequest() && answer.status() !== 303),
    page.waitForEvent('load'),
    form.evaluate((element) => (element as unknown as Form).submit()),
  ])
  return response
}
