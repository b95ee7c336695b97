import { afterAll, beforeAll, expect, it } from 'vitest'
import { COOKIES } from '#web/http/cookies.ts'
import { tokenEncodings } from '#tests/support/encodings.ts'
import { codeNow, forgetStep, newUser } from '#tests/support/factor.ts'
import { codeEncodings, found, secretEncodings } from '#tests/support/factor-encodings.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { type Browser, startWeb, type TestWeb } from '#tests/support/web.ts'

let web: TestWeb
beforeAll(async () => {
  web = await startWeb()
})
afterAll(() => web.close())

const BASE = '/account/second-factor'
const SHOWS_SECRETS = `${BASE}/app`

/** Records the addresses that a browser asks for or is sent to, and the pages besides the one that shows a draft. */
function recorded(browser: Browser): { addresses: string[]; pages: string[]; headers: string[] } {
  const seen = { addresses: [] as string[], pages: [] as string[], headers: [] as string[] }
  const send = browser.request.bind(browser)
  browser.request = async (target, sent) => {
    const answer = await send(target, sent)
    seen.addresses.push(target, answer.location ?? '')
    // A cookie with the token of the open sign-in is where the browser keeps it.
    seen.headers.push(...[...answer.headers].flatMap(([name, value]) => (name === 'set-cookie' ? [] : [value])))
    if (target.split('?')[0] !== SHOWS_SECRETS) seen.pages.push(answer.body)
    return answer
  }
  return seen
}

it('no address, header or page but that of the draft has a secret of a second factor, and no page of a colleague', async () => {
  const user = await newUser(web.service)
  const colleague = await web.signedIn('owner@acme.test', 'acme-print')
  const browser = web.browser()
  const [own, foreign] = [recorded(browser), recorded(colleague)]
  await browser.signIn(user.email)
  await browser.open(BASE)
  await browser.submit(`${BASE}/start`)
  const { body } = browser.page
  const secret = /<code class="key">([A-Z2-7 ]+)</.exec(body)?.[1]?.replaceAll(' ', '') ?? ''
  const codes = [...body.matchAll(/<li><code>([^<]+)</g)].map(([, code = '']) => code)
  await web.service.mail.deliver()
  const setup = /\b[0-9A-Z]{4}-[0-9A-Z]{4}\b/.exec(web.service.mail.to(user.email)[0]?.text ?? '')?.[0] ?? ''
  const added = await browser.submit(SHOWS_SECRETS, { code: codeNow(secret), setup_code: setup })
  own.pages.push(added.body)
  await forgetStep(web.service, user.id)

  const signIns: string[] = []
  const passwordAlone = async () => {
    await browser.open('/account')
    browser.cookies.clear()
    await browser.open('/sign-in')
    await browser.submit('/sign-in', { email: user.email, password: PASSWORD })
    signIns.push(...[...browser.cookies].flatMap(([name, value]) => (name === COOKIES.signIn.name ? [value] : [])))
  }
  await passwordAlone()
  await browser.open('/sign-in/recovery-code')
  await browser.submit('/sign-in/recovery-code', { recovery_code: codes[0] ?? '' })
  await passwordAlone()
  await browser.open('/sign-in/recovery-code')
  // A used one, and one that is not whole: the form comes back without what was typed.
  await browser.submit('/sign-in/recovery-code', { recovery_code: codes[0] ?? '' })
  await browser.submit('/sign-in/recovery-code', { recovery_code: codes[1]?.slice(0, -1) ?? '' })
  for (const path of ['/s/acme-print/members', '/s/acme-print/audit-log', '/s/acme-print', '/account', BASE])
    await colleague.open(path)

  const open = await web.service.sql<
    { n: number }[]
  >`select count(*)::int as n from app.open_sign_ins where user_id = ${user.id}`
  expect([secret.length, codes.length, setup.length, signIns.length, open[0]?.n]).toEqual([32, 10, 9, 2, 1])
  const tokens = signIns.flatMap((token) => Object.values(tokenEncodings(token)))
  const needles = [
    ...secretEncodings(secret),
    ...[...codes, codes[1]?.slice(0, -1) ?? '', setup].flatMap(codeEncodings),
    ...tokens,
  ]
  for (const { addresses, pages, headers } of [own, foreign])
    expect(found(needles, [...addresses, ...pages, ...headers].join('\n'))).toEqual([])
  // It would see one.
  expect(found(needles, body)).not.toEqual([])
})
