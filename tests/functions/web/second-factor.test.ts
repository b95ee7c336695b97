import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COOKIES } from '#web/http/cookies.ts'
import { codeNow, forgetStep, newFactorUser, wrongCode } from '#tests/support/factor.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { type Browser, startWeb, type TestWeb } from '#tests/support/web.ts'

let web: TestWeb
beforeAll(async () => {
  web = await startWeb({ env: { LOGIN_IP_LIMIT: '100000' } })
})
afterAll(() => web.close())

const [CODE, RECOVERY] = ['/sign-in/second-factor', '/sign-in/recovery-code']
const session = (browser: Browser) => browser.cookies.get(COOKIES.session.name)
const newUser = () => newFactorUser(web.service)

/** A browser whose user entered the password, and still owes the second factor. */
async function owing(email: string, next = ''): Promise<Browser> {
  const browser = web.browser()
  await browser.open(`/sign-in${next === '' ? '' : `?next=${encodeURIComponent(next)}`}`)
  await browser.submit('/sign-in', { email, password: PASSWORD })
  return browser
}

describe('a sign-in that owes a second factor', () => {
  it('is no session until the code is right, and then leads to the wanted page', async () => {
    const user = await newUser()
    const browser = await owing(user.email, '/account/sessions')
    expect(browser.page.body).toContain('<h1>Enter the code of your app</h1>')
    expect(browser.page.body).toContain(user.email)
    expect(session(browser)).toBeUndefined()
    expect((await browser.request('/account')).location).toBe('/sign-in?next=%2Faccount')
    const wrong = wrongCode(user.secret)
    await browser.submit(CODE, { code: wrong })
    expect(browser.page.status).toBe(422)
    expect(browser.page.body).toContain('That code is wrong or was used already.')
    expect(browser.page.body).not.toContain(wrong)
    await browser.submit(CODE, { code: 'not a code' })
    expect(browser.page.body).toContain('Enter the six digits that your app shows.')
    const code = codeNow(user.secret)
    await browser.submit(CODE, { code: ` ${code.slice(0, 3)} ${code.slice(3)} ` })
    expect(browser.page.body).toContain('<h1>Where you are signed in</h1>')
    expect(browser.cookies.has(COOKIES.signIn.name)).toBe(false)
  })

  it('takes a recovery code once, and says how many are left and how to set up a new app', async () => {
    const user = await newUser()
    const [recovery_code = ''] = user.recoveryCodes
    const browser = await owing(user.email, '/account/sessions')
    await browser.open(RECOVERY)
    await browser.submit(RECOVERY, { recovery_code: recovery_code.slice(0, -1) })
    expect(browser.page.body).toContain('Enter the whole code: 24 letters and digits.')
    await browser.submit(RECOVERY, { recovery_code: recovery_code.replaceAll(/\w/g, '7') })
    expect(browser.page.body).toContain('That recovery code is wrong or was used already.')
    expect(browser.page.body).not.toContain('7777')
    await browser.submit(RECOVERY, { recovery_code: recovery_code.toLowerCase().replaceAll('-', ' ') })
    expect(session(browser)).toBeDefined()
    expect(browser.page.body).toContain('9 recovery codes are left.')
    expect(browser.page.body).toContain('Lost your phone')
    const again = await owing(user.email)
    await again.open(RECOVERY)
    await again.submit(RECOVERY, { recovery_code })
    expect(again.page.status).toBe(422)
  })

  it.each([CODE, RECOVERY])(
    '%s leads to the sign-in without one, after its ten minutes, and after five tries',
    async (path) => {
      expect((await web.browser().request(`${path}?next=/account`)).location).toBe('/sign-in?next=%2Faccount')
      const user = await newUser()
      const name = path === CODE ? 'code' : 'recovery_code'
      const [right, wrong] =
        path === CODE ? [codeNow(user.secret), wrongCode(user.secret)] : [user.recoveryCodes[0] ?? '', '0'.repeat(24)]
      const old = await owing(user.email, '/account')
      await old.open(path)
      await web.service.sql`update app.open_sign_ins set expires_at = now() where user_id = ${user.id}`
      await old.submit(path, { [name]: right })
      expect(old.page.body).toContain('<h1>Sign in</h1>')
      expect(old.page.body).toContain('That took too long. Enter your password again.')
      const tried = await owing(user.email)
      await tried.open(path)
      for (let tries = 0; tries < 5; tries += 1) await tried.submit(path, { [name]: wrong })
      expect(tried.page.status).toBe(422)
      await tried.submit(path, { [name]: right })
      expect(tried.page.body).toContain('<h1>Sign in</h1>')
      expect([session(old), session(tried), tried.cookies.has(COOKIES.signIn.name)]).toEqual([
        undefined,
        undefined,
        false,
      ])
    },
  )

  it('of another tab takes no code of this one: each form names its sign-in', async () => {
    const [user, other] = [await newUser(), await newUser()]
    const browser = await owing(user.email)
    const first = browser.page
    await browser.open('/sign-in')
    await browser.submit('/sign-in', { email: other.email, password: PASSWORD })
    const second = browser.page
    browser.page = first
    await browser.submit(CODE, { code: codeNow(user.secret) })
    expect(browser.page.status).toBe(422)
    expect(browser.page.body).toContain(other.email)
    expect(session(browser)).toBeUndefined()
    const tried = await web.service.sql`
      select sum(tries)::int as tries from app.open_sign_ins where user_id in (${user.id}, ${other.id})`
    expect(tried).toEqual([{ tries: 0 }])
    browser.page = second
    await browser.submit(CODE, { code: codeNow(other.secret) })
    expect(session(browser)).toBeDefined()
  })

  it('follows the reset of a password too, and a new password alone opens nothing', async () => {
    const user = await newUser()
    await web.service.request('POST /v1/auth/password/forgot', { body: { email: user.email } })
    const browser = web.browser()
    await browser.open(`/reset-password?token=${await web.service.mail.tokenFor(user.email)}`)
    await browser.submit('/reset-password', { password: 'a passphrase after the reset' })
    expect(browser.page.body).toContain('<h1>Enter the code of your app</h1>')
    expect(session(browser)).toBeUndefined()
    await forgetStep(web.service, user.id)
    await browser.submit(CODE, { code: codeNow(user.secret) })
    expect(session(browser)).toBeDefined()
  })
})

it('owes the second factor again after a sign-out, which leaves no cookie but the language', async () => {
  const user = await newUser()
  const [browser, tab] = [await owing(user.email, '/account'), await owing(user.email)]
  await browser.submit('/language', { lang: 'es' })
  await browser.submit(CODE, { code: codeNow(user.secret) })
  expect(session(browser)).toBeDefined()
  // Another tab of the browser has begun a sign-in.
  browser.cookies.set(COOKIES.signIn.name, tab.cookies.get(COOKIES.signIn.name) ?? '')
  await browser.post('/sign-out', browser.hidden('/sign-out'))
  // The notice is shown once, on the next page.
  browser.cookies.delete(COOKIES.notice.name)
  expect([...browser.cookies.keys()]).toEqual([COOKIES.lang.name])
  await browser.open('/sign-in')
  await browser.submit('/sign-in', { email: user.email, password: PASSWORD })
  expect([session(browser), browser.cookies.has(COOKIES.signIn.name)]).toEqual([undefined, true])
})

it('is forgotten when somebody without a second factor signs in', async () => {
  const user = await newUser()
  const browser = await owing(user.email)
  expect(browser.cookies.has(COOKIES.signIn.name)).toBe(true)
  await browser.signIn('sales@acme.test')
  expect([session(browser) === undefined, browser.cookies.has(COOKIES.signIn.name)]).toEqual([false, false])
})

it('is forgotten by the sign-out that leads back to the link of somebody else', async () => {
  const user = await newUser()
  const tab = await owing(user.email)
  await web.service.request('POST /v1/auth/password/forgot', { body: { email: user.email } })
  const browser = await web.signedIn('sales@acme.test')
  browser.cookies.set(COOKIES.signIn.name, tab.cookies.get(COOKIES.signIn.name) ?? '')
  await browser.open(`/reset-password?token=${await web.service.mail.tokenFor(user.email)}`)
  await browser.submit('/sign-out', { continue: '/reset-password' })
  expect(browser.page.body).toContain('name="password"')
  expect([session(browser), browser.cookies.has(COOKIES.signIn.name)]).toEqual([undefined, false])
})

it('keeps the cookies of a session after a late 401, and the sign-in deletes them if the API refuses them too', async () => {
  const user = await newUser()
  const browser = web.browser()
  browser.cookies.set(COOKIES.session.name, user.token)
  await browser.open('/account')
  const late = web.browser()
  for (const [name, value] of browser.cookies) late.cookies.set(name, value)
  late.cookies.set(COOKIES.session.name, 'A'.repeat(43))
  const { location, cookies } = await late.request('/account')
  expect(location).toBe('/sign-in?next=%2Faccount&notice=session-ended')
  expect(cookies.join()).not.toContain(COOKIES.session.name + '=')
  // Another tab has set the new token in between.
  late.cookies.set(COOKIES.session.name, user.token)
  await late.open(location ?? '')
  expect(late.page.body).toContain('<h1>Your account</h1>')
  expect(late.page.body).not.toContain('Your session has ended')
  late.cookies.set(COOKIES.session.name, 'A'.repeat(43))
  await late.open(location ?? '')
  expect(late.page.body).toContain('<h1>Sign in</h1>')
  expect([session(late), late.cookies.get(COOKIES.csrf.name)]).toEqual([undefined, undefined])
})

it('leads who is refused by a shop that asks for a second step to set one up, and from there to the shop', async () => {
  const { slug, id, owner } = await web.service.newTenant('owner')
  const { sql } = web.service
  await sql`
    update app.users set password_hash = (select password_hash from app.users where email = 'sales@acme.test') where id = ${owner.userId}`
  await sql`
    update app.tenants set second_factor_managers_from = '2024-01-02 03:00Z', timezone = 'America/Chicago' where id = ${id}`
  const browser = web.browser()
  await browser.open(`/sign-in?next=${encodeURIComponent(`/s/${slug}/members`)}`)
  await browser.submit('/sign-in', { email: `owner@${slug}.test`, password: PASSWORD })
  expect(browser.page.body).toMatch(
    /<p class="notice refused" role="alert"[^>]*>This shop asks for a second step\. Set one up first\.</,
  )
  expect(browser.page.body).toContain(': from Jan 1, 2024, 9:00 PM CST</li>')
  expect(browser.page.body).not.toContain('href="/shops')
  expect(browser.hidden('/account/second-factor/start')).toHaveProperty('next', `/shops?next=%2Fs%2F${slug}%2Fmembers`)
  // As if they had set up an app in this session.
  await sql`
    insert into app.factors (id, user_id, kind, name, key_id, witness_hash, sealed_secret, last_step)
    values (gen_random_uuid(), ${owner.userId}, 'totp', 'App', gen_random_uuid(), sha256('w'), sha256('s'), 1)`
  await sql`update app.sessions set second_factor_at = now() where user_id = ${owner.userId}`
  await browser.open('/account/second-factor')
  expect(browser.page.body).toContain('href="/shops"')
  await browser.open('/shops')
  expect(browser.page.body).toContain(`<h1>Shop ${slug}</h1>`)
})

it('leads somebody who works in another shop to set up a second step when a shop asks for one', async () => {
  const { slug, owner } = await web.service.newTenant('owner')
  const { id: asking } = await web.service.newTenant('owner')
  await web.service.sql`
    insert into app.memberships (tenant_id, user_id, role_id, accepted_at) values (${asking}, ${owner.userId}, 1, now())`
  await web.service.sql`update app.tenants set second_factor_managers_from = now() where id = ${asking}`
  const browser = web.browser()
  browser.cookies.set(COOKIES.session.name, owner.token)
  await browser.open('/shops')
  const choose = (next: string) => browser.post('/shops', { ...browser.hidden('/shops'), tenant: asking, next })
  expect((await choose('')).location).toBe('/account/second-factor?next=%2Fshops&notice=second-factor-required')
  const answer = await choose('/account/sessions')
  const next = encodeURIComponent('/shops?next=%2Faccount%2Fsessions')
  expect([answer.status, answer.location]).toEqual([
    303,
    `/account/second-factor?next=${next}&notice=second-factor-required`,
  ])
  await browser.open(answer.location ?? '')
  expect(browser.page.body).toContain('This shop asks for a second step. Set one up first.')
  await browser.open(`/s/${slug}`)
  expect(browser.page.status).toBe(200)
})
