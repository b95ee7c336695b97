import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { FIELD_ERRORS, type FieldErrorCode } from '#shared/schema/field-error.ts'
import { PROBLEMS } from '#shared/base/problem.ts'
import type { Language } from '#shared/schema/language.ts'
import { LANGUAGES } from '#web/http/language.ts'
import { TEXTS } from '#web/texts/texts.ts'
import { type Browser, startWeb, type TestWeb } from '#tests/support/web.ts'

// The API answers in words that nobody knows. What a page shows comes from codes and kinds alone.
const WORDS = 'canary-1f9b7c'

let web: TestWeb
const browsers = new Map<string, Browser>()
beforeAll(async () => {
  web = await startWeb()
  for (const lang of Object.keys(LANGUAGES)) {
    const browser = web.browser()
    await browser.open('/forgot-password')
    await browser.submit('/language', { lang })
    browsers.set(lang, browser)
  }
})
afterAll(() => web.close())

/** Returns the page of a form that the API refuses with this problem. */
async function refused(lang: string, kind: keyof typeof PROBLEMS, members: object): Promise<string> {
  const browser = browsers.get(lang)
  if (browser === undefined) throw new Error(`no browser for ${lang}`)
  await browser.open('/forgot-password')
  const { status } = PROBLEMS[kind]
  const problem = { type: `https://problems.test/${kind}`, title: WORDS, status, detail: WORDS, ...members }
  onTestFinished(() => web.breakApi(null))
  web.breakApi(async () => Response.json(problem, { status, headers: { 'content-type': 'application/problem+json' } }))
  const { status: shown, body } = await browser.submit('/forgot-password', { email: 'ann@acme.test' })
  expect(shown).toBe(422)
  expect(body).not.toContain(WORDS)
  return body.replaceAll('&#39;', "'")
}

const label = { en: 'Email address', es: 'Correo electrónico' } as const
const codes = Object.keys(FIELD_ERRORS) as FieldErrorCode[]

it.each(codes)(
  'shows the text of the code %s at its field in each language, whatever the API says in English',
  async (code) => {
    const [min, max] = [3, 417]
    const shown = async (lang: Language): Promise<string> => {
      const text = TEXTS[lang].fieldErrors[code]
      const expected = typeof text === 'string' ? text : text({ min, max })
      const errors = [{ pointer: '#/email', code, min, max, detail: WORDS }]
      expect(await refused(lang, 'validation-failed', { errors })).toContain(
        `<a href="#field-email">${label[lang]}: ${expected}</a>`,
      )
      return expected
    }
    expect(await shown('es')).not.toBe(await shown('en'))
  },
)

it.each([
  'token-invalid',
  'already-member',
  'invitations-stopped',
  'precondition-failed',
  'deal-locked',
  'malformed-json',
] as const)('shows the text of the problem %s above the form in each language', async (kind) => {
  for (const lang of ['en', 'es'] as const) expect(await refused(lang, kind, {})).toContain(TEXTS[lang].problems[kind])
})

it('treats a code and a kind of a later version of the API as any other refusal', async () => {
  for (const code of ['canary-1f9b7c', 'constructor', 'toString'])
    expect(
      await refused('es', 'validation-failed', { errors: [{ pointer: '#/email', code, detail: WORDS }] }),
    ).toContain(`<a href="#field-email">${label.es}: Escriba un valor válido.</a>`)
  for (const kind of ['later', 'other', 'constructor', 'rate-limited'])
    expect(await refused('es', 'last-owner', { type: `https://problems.test/${kind}` })).toContain(
      TEXTS.es.problems.other,
    )
})
