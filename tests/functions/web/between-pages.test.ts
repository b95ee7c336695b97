import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { vendorAccounts } from '#infra/local/vendors/vendors.ts'
import { addressPattern } from '#web/http/addresses.ts'
import { STEP_UP } from '#shared/client/step-up.ts'
import { COOKIES } from '#web/http/cookies.ts'
import { needsSession } from '#web/http/csrf.ts'
import type { Page } from '#web/http/page.ts'
import { PAGES } from '#web/http/pages.ts'
import { TEXTS } from '#web/texts/texts.ts'
import { CODE_FIELDS, SECRET_FIELDS } from '#web/view/form.ts'
import { Authenticator } from '#tests/support/authenticator.ts'
import { codeNow, forgetStep, mailedSetupCode, newDraft, newFactorUser, wrongCode } from '#tests/support/factor.ts'
import { createMember, mintSession } from '#tests/support/minted-session.ts'
import { oneOf } from '#tests/support/rounds.ts'
import { routes } from '#tests/support/routes.ts'
import { makeResource, sampleBody } from '#tests/support/samples.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { type Browser, type PageAnswer, startWeb, type TestWeb, WEB_ORIGIN } from '#tests/support/web.ts'

const NEW_PASSWORD = 'a passphrase between two pages'
const MANY = '100000'
const SECRETS: readonly string[] = SECRET_FIELDS
const CODES: readonly string[] = CODE_FIELDS
const [VENDOR] = vendorAccounts
const SECRET_VALUES: Readonly<Record<string, string>> = {
  current_password: PASSWORD,
  password: PASSWORD,
  secret: VENDOR?.secret ?? '',
}

let web: TestWeb
beforeAll(async () => {
  const limits = ['LOGIN_IP_LIMIT', 'LOGIN_EMAIL_LIMIT', 'LOGIN_ACCOUNT_LIMIT', 'FORGOT_EMAIL_LIMIT', 'FORGOT_IP_LIMIT']
  web = await startWeb({
    env: {
      ...Object.fromEntries(limits.map((name) => [name, MANY])),
      ...Object.fromEntries(['', '_DAY', '_IP'].map((name) => [`SECOND_FACTOR${name}_LIMIT`, '10000'])),
      INVITE_TENANT_LIMIT: MANY,
      INVITE_RESEND_SECONDS: '600',
    },
  })
})
afterAll(() => web.close())

/** Everything that a form could change, but sessions. */
const state = async () =>
  JSON.stringify([
    await web.service
      .sql`select id, email, full_name, password_hash, email_verified_at, language from app.users order by id`,
    await web.service
      .sql`select id, tenant_id, user_id, role_id, accepted_at, revoked_at from app.memberships order by id`,
    await web.service.sql`select id, token_hash, role_id, consumed_at from app.tokens order by id, token_hash`,
    await web.service.sql`select id, legal_name, timezone, currency from app.tenants order by id`,
    await web.service.sql`select id, code, label from app.roles order by id`,
    await web.service.sql`select id, label, account_number from app.vendor_accounts order by id`,
    await web.service.sql`select id from app.sync_runs order by id`,
    await web.service.sql`select id, name, generation, expires_at, revoked_at from app.api_keys order by id`,
    await web.service.sql`select id, name, witness_hash from app.factors order by id`,
  ])

const withPassword = (...emails: string[]) => web.service.sql`
  update app.users set password_hash = (select password_hash from app.users where email = 'owner@acme.test')
   where email = any (${emails})`

/** Copies the cookies of a browser, as another tab of it has them. */
function tabOf(browser: Browser, page: PageAnswer = browser.page): Browser {
  const tab = web.browser()
  for (const [name, value] of browser.cookies) tab.cookies.set(name, value)
  tab.page = page
  return tab
}

let made = 0
const unique = (): string => {
  made += 1
  return `p${made}x`
}

describe('two links of mails in two tabs', () => {
  interface Link {
    readonly email: string
    readonly token: string
    readonly fields: Readonly<Record<string, string>>
    /** The state that only the form of this link changes. */
    readonly own: () => Promise<string>
  }
  const user = async (email: string) =>
    JSON.stringify(await web.service.sql`select password_hash, email_verified_at from app.users where email = ${email}`)
  /** What makes the links of each page. A new page of links needs a line here. */
  const MAKERS: Readonly<Record<string, () => Promise<Link>>> = {
    '/reset-password': async () => {
      const { slug } = await web.service.newTenant('owner')
      const email = `owner@${slug}.test`
      await web.service.request('POST /v1/auth/password/forgot', { body: { email } })
      const token = await web.service.mail.tokenFor(email)
      return { email, token, fields: { password: NEW_PASSWORD }, own: () => user(email) }
    },
    '/verify-email': async () => {
      const { slug, owner } = await web.service.newTenant('owner')
      const email = `owner@${slug}.test`
      await web.service.request('POST /v1/auth/verify/resend', { token: owner.token })
      return { email, token: await web.service.mail.tokenFor(email), fields: {}, own: () => user(email) }
    },
    '/cancel-reset': async () => {
      const { slug, owner } = await web.service.newTenant('owner')
      const { id, email } = await newFactorUser(web.service, [slug])
      const [member] = await web.service.sql`select id from app.memberships where user_id = ${id}`
      await web.service.request(`POST /v1/members/${member?.['id']}/factor-reset`, { token: owner.token })
      const own = async () =>
        JSON.stringify(await web.service.sql`select cancelled_at from app.factor_resets where user_id = ${id}`)
      return { email, token: await web.service.mail.tokenFor(email), fields: {}, own }
    },
    '/invitation': async () => {
      const { owner, id } = await web.service.newTenant('owner')
      const email = `${unique()}@between.test`
      await web.service.request('POST /v1/members/invite', { token: owner.token, body: { email, role: 'sales' } })
      const own = async () =>
        JSON.stringify(
          await web.service
            .sql`select user_id from app.memberships where tenant_id = ${id} and accepted_at is not null order by id`,
        )
      const fields = { full_name: 'Ann Archer', password: NEW_PASSWORD }
      return { email, token: await web.service.mail.tokenFor(email), fields, own }
    },
  }
  const pages = PAGES.filter(({ access, method }) => access === 'link' && method === 'GET').map(({ path }) => path)

  /** Opens two links in two tabs of one browser. */
  async function twoTabs(page: string) {
    const [first, second] = [await MAKERS[page]?.(), await MAKERS[page]?.()]
    if (first === undefined || second === undefined) throw new Error(`no maker of links for ${page}`)
    const browser = web.browser()
    const shown = []
    for (const link of [first, second]) {
      await browser.open(`${page}?token=${link.token}`)
      expect(browser.page.status).toBe(200)
      shown.push({ link, page: browser.page })
    }
    return { browser, shown }
  }

  const orders = pages.flatMap((page) => [[0, 1] as const, [1, 0] as const].map((order) => ({ page, order })))
  it.each(orders)(
    '$page in the order $order: each form acts for the account that it names',
    async ({ page, order }) => {
      const { browser, shown } = await twoTabs(page)
      for (const [at, { link, page: seen }] of shown.entries()) {
        expect(seen.body).toContain(link.email)
        expect(seen.body).not.toContain(shown[1 - at]?.link.email)
      }
      const [one, other] = order.map((at) => shown[at]) as [(typeof shown)[0], (typeof shown)[0]]
      const before = [await one.link.own(), await other.link.own()]
      browser.page = one.page
      await browser.submit(page, one.link.fields)
      expect(browser.page.status).toBe(200)
      expect(await one.link.own()).not.toBe(before[0])
      expect(await other.link.own()).toBe(before[1])
      const after = await one.link.own()
      browser.page = other.page
      await browser.submit(page, other.link.fields)
      if (browser.page.body.includes('Sign out and continue')) {
        // The first form has signed in: the page says so, and does nothing.
        expect(browser.page.body).toContain(
          `This link is for ${other.link.email}. You are signed in as ${one.link.email}.`,
        )
        expect(await other.link.own()).toBe(before[1])
        await browser.submit('/sign-out', { continue: page })
        expect(browser.page.body).toContain(other.link.email)
        await browser.submit(page, other.link.fields)
      }
      expect(browser.page.status).toBe(200)
      expect(await other.link.own()).not.toBe(before[1])
      expect(await one.link.own()).toBe(after)
      expect(browser.cookies.has(COOKIES.link.name)).toBe(false)
    },
  )

  it.each(pages)('%s: a form whose link is gone does nothing, and says what to do', async (page) => {
    const { browser, shown } = await twoTabs(page)
    for (let more = 0; more < 4; more += 1)
      await browser.request(`${page}?token=${String(more).repeat(43)}`, { headers: { 'sec-fetch-site': 'cross-site' } })
    const before = await state()
    browser.page = shown[0]?.page ?? browser.page
    await browser.submit(page, shown[0]?.link.fields)
    expect([browser.page.status, await state()]).toEqual([422, before])
    expect(browser.page.body).toContain('<h1>Open the link in the mail again</h1>')
    // The field of the other link does not fit either: it is that of another browser.
    browser.page = shown[1]?.page ?? browser.page
    const stolen = { ...browser.hidden(page), ...shown[1]?.link.fields, link: 'A'.repeat(43) }
    expect((await browser.post(page, stolen)).status).toBe(422)
    expect(await state()).toBe(before)
  })

  it.each(pages)('%s: a form that stood open past its cookie is shown again for its own account', async (page) => {
    const { browser, shown } = await twoTabs(page)
    browser.cookies.delete(COOKIES.form.name)
    const before = await state()
    // The newest link is that of the second tab.
    browser.page = shown[1]?.page ?? browser.page
    await browser.submit(page, shown[1]?.link.fields)
    expect([browser.page.status, await state()]).toEqual([422, before])
    expect(browser.page.body).toContain('This page was open for too long.')
    if (shown[1]?.link.fields['full_name'] !== undefined) expect(browser.page.body).toContain('value="Ann Archer"')
    await browser.submit(page, shown[1]?.link.fields)
    expect(browser.page.status).toBe(200)
    browser.cookies.delete(COOKIES.form.name)
    const then = await state()
    const other = web.browser()
    for (const { link } of shown) await other.request(`${page}?token=${link.token}`)
    other.page = shown[0]?.page ?? other.page
    await other.submit(page, shown[0]?.link.fields)
    expect([other.page.status, await state()]).toEqual([422, then])
    expect(other.page.body).not.toContain('value="Ann Archer"')
  })

  it.each(pages)('%s: nobody acts for somebody else while signed in', async (page) => {
    const { browser, shown } = await twoTabs(page)
    const { slug } = await web.service.newTenant('sales')
    const token = (await mintSession(web.service.sql, { email: `sales@${slug}.test`, slug })).token
    browser.cookies.set(COOKIES.session.name, token)
    const before = await state()
    const [first] = shown
    browser.page = first?.page ?? browser.page
    await browser.submit(page, first?.link.fields)
    expect(browser.page.body).toContain(
      `This link is for ${first?.link.email}. You are signed in as sales@${slug}.test.`,
    )
    await browser.open(page)
    expect(browser.page.body).toContain(`You are signed in as sales@${slug}.test.`)
    expect(browser.page.body).not.toContain(`action="${page}"`)
    expect(await state()).toBe(before)
  })

  it.each(pages)('%s: a second press of the form is answered as done', async (page) => {
    const link = await MAKERS[page]?.()
    const browser = web.browser()
    await browser.open(`${page}?token=${link?.token}`)
    const fields = { ...browser.hidden(page), username: link?.email ?? '', ...link?.fields }
    const [one, two] = [tabOf(browser), tabOf(browser)]
    const answers = await Promise.all([one.post(page, fields), two.post(page, fields)])
    expect(answers.map(({ status }) => status)).toEqual([303, 303])
    const late = tabOf(browser)
    expect((await late.post(page, fields)).status).toBeLessThan(400)
  })
})

/** What somebody types into a field of this name. */
const SAMPLES: Readonly<Record<string, () => string>> = {
  email: () => `${unique()}@between.test`,
  full_name: () => 'Ann Archer',
  label: () => `Night ${unique()}`,
  code: () => `night-${unique()}`,
  legal_name: () => `Acme ${unique()}`,
  account_number: () => VENDOR?.account_number ?? '',
}

const keyOn = ({ page }: Browser) => /<code class="key">([A-Z2-7 ]+)</.exec(page.body)?.[1]?.replaceAll(' ', '')

/** What a new passkey answers to the options of the shown page. */
function credentialOn(browser: Browser): { readonly credential?: string } {
  const [, options] = / data-passkey="(\{[^"]*)" defer>/.exec(browser.page.body) ?? []
  if (options === undefined) return {}
  const made = new Authenticator({ origin: WEB_ORIGIN }).create(JSON.parse(options.replaceAll('&quot;', '"')))
  return { credential: JSON.stringify(made) }
}

interface Filled {
  /** What is sent. */
  readonly fields: Record<string, string>
  /** What must not get lost: each field that is no secret, with its markup. */
  readonly typed: readonly string[]
}

/** Fills in the form of the shown page that is sent to this address. Codes are those of the app that the page sets up, or else of `secret`. */
function fill(browser: Browser, to: string, secret: string | null): Filled {
  const form = [...browser.page.body.matchAll(/<form[^>]* action="([^"]*)"[^>]*>(.*?)<\/form>/gs)].find(
    ([, action]) => action === to,
  )
  const content = form?.[2] ?? ''
  const fields: Record<string, string> = { ...browser.hidden(to) }
  if (content.includes('name="credential"')) Object.assign(fields, credentialOn(browser))
  const typed: string[] = []
  for (const [tag] of content.matchAll(/<input id="field-[^>]*>/g)) {
    const name = / name="([^"]*)"/.exec(tag)?.[1] ?? ''
    const isSecret = /type="password"|class="masked"/.test(tag)
    expect([name, isSecret], 'a field of a secret is in the list of secrets').toEqual([name, SECRETS.includes(name)])
    if (tag.includes(' readonly')) fields[name] = / value="([^"]*)"/.exec(tag)?.[1] ?? ''
    else if (isSecret) fields[name] = SECRET_VALUES[name] ?? NEW_PASSWORD
    else if (tag.includes('"one-time-code"')) fields[name] = codeNow(keyOn(browser) ?? secret ?? '')
    else if (CODES.includes(name)) fields[name] = ''
    else {
      fields[name] = SAMPLES[name]?.() ?? `typed ${unique()}`
      typed.push(`value="${fields[name]}"`)
    }
  }
  for (const [, name = ''] of content.matchAll(/<textarea id="field-[^"]*" name="([^"]*)"/g)) {
    fields[name] = SAMPLES[name]?.() ?? `typed ${unique()}`
    typed.push(`\n${fields[name]}</textarea>`)
  }
  for (const [, name = '', options = ''] of content.matchAll(
    /<select id="field-[^"]*" name="([^"]*)"[^>]*>(.*?)<\/select>/gs,
  )) {
    const chosen = name === 'vendor' ? VENDOR?.code : undefined
    fields[name] =
      chosen ??
      /<option value="([^"]*)" selected/.exec(options)?.[1] ??
      /<option value="([^"]*)"/.exec(options)?.[1] ??
      ''
    typed.push(`<option value="${fields[name]}" selected>`)
  }
  // A permission of a key. What the other boxes ask for is wanted by few.
  const [, box] = /<input type="checkbox" name="(may-[^"]*)"/.exec(content) ?? []
  if (box !== undefined) {
    fields[box] = 'yes'
    typed.push(`name="${box}" value="yes" checked`)
  }
  const radio = [...content.matchAll(/<input type="radio" name="([^"]*)" value="([^"]*)"/g)].at(-1)
  if (radio?.[1] !== undefined) {
    fields[radio[1]] = radio[2] ?? ''
    typed.push(`value="${radio[2]}" checked`)
  }
  const [, button = '', value = ''] = /<button[^>]* name="([^"]*)" value="([^"]*)"/.exec(content) ?? []
  if (button !== '') fields[button] = value
  return { fields, typed }
}

/** A shop with one of everything that has a form, and its owner, who also works in another shop, and has an app on the pages of it. */
async function furnished(page: Page) {
  const { service } = web
  const { sql } = service
  const { slug, owner, id } = await service.newTenant('owner', 'sales')
  const { id: elsewhere } = await service.newTenant('owner')
  const colleague = `colleague@${slug}.test`
  await createMember(sql, { email: colleague, slug })
  const email = `owner@${slug}.test`
  await withPassword(email, colleague)
  await sql`update app.users set email_verified_at = null where id = ${owner.userId}`
  await sql`insert into app.memberships (tenant_id, user_id, role_id, accepted_at) values (${elsewhere}, ${owner.userId}, 1, now())`
  await mintSession(sql, { email, slug })
  const send = (route: string, body: object) => service.request(route, { token: owner.token, body })
  await send('POST /v1/members/invite', { email: `${unique()}@between.test`, role: 'sales' })
  await sql`update app.tokens set issued_at = issued_at - interval '1 hour' where tenant_id = ${id}`
  await send('POST /v1/roles', { code: 'night-shift', label: 'Night shift', based_on: 'viewer', add: [] })
  await send('POST /v1/vendor-accounts', {
    vendor: VENDOR?.code,
    account_number: VENDOR?.account_number,
    secret: VENDOR?.secret,
  })
  for (const route of routes) if (isShown(route.name)) await send(route.name, sampleBody(route) ?? {})
  // A member who has a second factor.
  await makeResource(service, '/v1/members/{id}', slug)
  const secret = hasApp(page) ? await setUpApp(owner.token, owner.userId, email) : null
  return { slug, email, userId: owner.userId, colleague, elsewhere, secret }
}

/** The setup code is for somebody without an app. Only somebody with one asks others for a second factor. */
const hasApp = ({ path }: Page): boolean =>
  /^\/account\/second-factor|\/settings\/second-factor$/.test(path) && !path.endsWith('/setup-code')

async function setUpApp(token: string, userId: string, email: string): Promise<string> {
  const { secret } = (await newDraft(web.service, token)).body
  const setup_code = await mailedSetupCode(web.service, { email, token })
  const body = { code: codeNow(secret), setup_code }
  await web.service.request('POST /v1/auth/factors/totp', { token, body })
  await forgetStep(web.service, userId)
  return secret
}

/** Whether this route makes what a form below `/s/{slug}/NAME/{id}` changes, and nothing above has made one. */
const isShown = (route: string): boolean =>
  forms.some(({ path }) => route === `POST /v1/${/^\/s\/\{slug\}\/([a-z-]+)\/\{/.exec(path)?.[1]}`) &&
  !['POST /v1/roles', 'POST /v1/vendor-accounts'].includes(route)

type World = Awaited<ReturnType<typeof furnished>>

function browserOf(token: string): Browser {
  const browser = web.browser()
  browser.cookies.set(COOKIES.session.name, token)
  return browser
}

const views = PAGES.filter(({ method, path }) => method === 'GET' && !/\.ico$|^\/assets|healthz/.test(path)).map(
  ({ path }) => ({ path, pattern: addressPattern(path) }),
)

/** Follows the links of the pages until one has the form, one of each page. Returns where it stands and where it is sent. */
async function findForm(browser: Browser, { slug }: World, page: Page): Promise<{ at: string; to: string }> {
  const pattern = addressPattern(page.path)
  const seen = new Set<string>()
  const waiting = [
    `/s/${slug}`,
    '/account',
    '/shops',
    '/account/second-factor/app',
    '/account/second-factor/passkey',
    '/account/confirm',
  ]
  for (let at = waiting.shift(); at !== undefined; at = waiting.shift()) {
    const path = at.split('?', 1)[0] ?? ''
    const view = (views.find((each) => each.path === path) ?? views.find((each) => each.pattern.test(path)))?.path
    if (view === undefined || seen.has(view)) continue
    seen.add(view)
    const { body, status } = await browser.open(at)
    if (status !== 200) continue
    // The switch of the shop in the header of a page is no form of it.
    const actions = [...body.matchAll(/<form[^>]* method="post" action="([^"]*)"/g)].map(([, action = '']) => action)
    const to = actions.find((action) => action === page.path || pattern.test(action))
    if (to !== undefined) return { at, to }
    waiting.push(...[...body.matchAll(/<a [^>]*href="([^"#]*)"/g)].map(([, href = '']) => href))
  }
  throw new Error(`no page shows the form of ${page.route}`)
}

const forms = PAGES.filter(({ method }) => method === 'POST')
const ofSession = forms.filter(needsSession).map((page) => [page.route, page] as const)
const isOfShop = (page: Page) => typeof page.access === 'object'

/** Mints a session of the owner that has just proven their presence, and has begun to set up an app. */
async function sessionOf({ email, slug, userId, secret }: World): Promise<string> {
  const { token, id } = await mintSession(web.service.sql, { email, slug })
  await web.service.sql`
    update app.sessions set created_at = created_at - interval '1 minute',
           absolute_expires_at = absolute_expires_at - interval '1 minute',
           second_factor_at = case when ${secret !== null} then now() end where id = ${id}`
  await web.service.sql`delete from app.factor_drafts where user_id = ${userId}`
  await newDraft(web.service, token)
  await forgetStep(web.service, userId)
  return token
}

/** Returns the page of the form, filled in. */
async function opened(page: Page, world: World) {
  const token = await sessionOf(world)
  const browser = browserOf(token)
  const { at, to } = await findForm(browser, world, page)
  return { token, browser, at, to, ...fill(browser, to, world.secret), before: await state() }
}

const expectTyped = (browser: Browser, typed: readonly string[], route: string) => {
  for (const text of typed) expect(browser.page.body, route).toContain(text)
  expect(browser.page.body).not.toContain(NEW_PASSWORD)
  expect(browser.page.body).not.toContain(PASSWORD)
  expect(browser.page.body).not.toContain(VENDOR?.secret)
}

describe.each(oneOf(5, ofSession))('%s', (route, page) => {
  let world: World
  beforeAll(async () => {
    world = await furnished(page)
  })

  it('is shown again with what was typed when its page was open for too long', async () => {
    const { browser, to, fields, typed, before } = await opened(page, world)
    browser.cookies.delete(COOKIES.csrf.name)
    const answer = await browser.post(to, { ...fields, csrf: 'A'.repeat(43) })
    browser.page = answer
    expect(await state()).toBe(before)
    if (answer.status === 303) expect(route).toBe('POST /shops')
    else {
      expect([answer.status, answer.body.includes('This page was open for too long.')]).toEqual([422, true])
      expect(browser.hidden(to)).toHaveProperty('csrf')
      expectTyped(browser, typed, route)
    }
  })

  it('comes back with what was typed after the session ended, to the same person alone', async () => {
    const { browser, token, to, fields, typed, before } = await opened(page, world)
    await web.service.request('DELETE /v1/auth/session', { token })
    const answer = await browser.post(to, fields)
    expect([answer.status, await state()]).toEqual([303, before])
    await browser.open(answer.location ?? '/')
    expect(browser.page.body).toContain('Your session has ended. Sign in again.')
    const another = tabOf(browser)
    const signIn = async (tab: Browser, email: string) => {
      await tab.submit('/sign-in', { email, password: PASSWORD })
      if (tab.page.body.includes('action="/sign-in/second-factor"'))
        await tab.submit('/sign-in/second-factor', { code: codeNow(world.secret ?? '') })
      if (tab.page.body.includes('<h1>Choose a shop</h1>') && route !== 'POST /shops') await tab.submit('/shops')
    }
    await signIn(browser, world.email)
    // What a factor is set up with belongs to one session: the next one begins again.
    const begins = ['/account/second-factor/app', '/account/second-factor/passkey']
    if (!['/', '/shops', ...begins].includes(page.formAt)) {
      expect(browser.page.body).toContain('This was not done yet. Check it, and send it again.')
      expect(browser.hidden(to)).toHaveProperty('csrf')
      expectTyped(browser, typed, route)
    }
    await signIn(another, world.colleague)
    expect(another.page.body).not.toContain('This was not done yet.')
    for (const text of typed.filter((each) => each.startsWith('value="') && !each.endsWith('checked')))
      expect(another.page.body).not.toContain(text)
    expect(await state()).toBe(before)
  })

  it.runIf(isOfShop(page))('changes no other shop, and comes back after the switch', async () => {
    const { browser, token, to, fields, typed, before } = await opened(page, world)
    await web.service.request(`POST /v1/auth/tenants/${world.elsewhere}/select`, { token })
    await browser.submit(to, fields)
    expect([browser.page.status, await state()]).toEqual([409, before])
    await browser.submit('/shops')
    expect(browser.page.body).toContain('This was not done yet. Check it, and send it again.')
    expectTyped(browser, typed, route)
    expect(await state()).toBe(before)
  })

  it('does nothing for somebody else who signed in, and shows them nothing of it', async () => {
    const { browser, to, fields, typed, before } = await opened(page, world)
    const { token } = await mintSession(web.service.sql, { email: world.colleague, slug: world.slug })
    browser.cookies.set(COOKIES.session.name, token)
    await browser.submit(to, fields)
    expect(await state()).toBe(before)
    if (browser.page.status !== 200 && browser.page.status !== 404)
      expect(browser.page.body).toContain(`You are signed in as ${world.colleague} now.`)
    for (const text of typed.filter((each) => each.startsWith('value="') && !each.endsWith('checked')))
      expect(browser.page.body).not.toContain(text)
  })

  it('is no dead end: its address leads to its page', async () => {
    const { browser, to } = await opened(page, world)
    const answer = await browser.request(to)
    expect([200, 303]).toContain(answer.status)
    if (answer.status === 303) expect((await browser.open(answer.location ?? '')).status).toBe(200)
  })

  it('asks for a proof of presence exactly if its route needs a step-up, and does nothing without it', async () => {
    // It does what the form does, which the next test does once.
    const own = await furnished(page)
    const { browser, token, to, fields, typed, before } = await opened(page, own)
    await web.service
      .sql`update app.sessions set stepped_up_at = stepped_up_at - interval '1 hour' where user_id = ${own.userId}`
    const kind = page.stepUp === null ? null : STEP_UP[page.stepUp]
    browser.page = await browser.post(to, fields)
    const asks = browser.page.body.includes('<legend>Confirm that it is you</legend>')
    // What a factor is set up with is shown after a proof alone.
    if (browser.page.location?.startsWith('/account/confirm?')) expect(kind).toBe('again')
    else expect(asks).toBe(kind !== null && (kind !== 'two-factor' || own.secret !== null))
    if (!asks) return
    expect([browser.page.status, await state()]).toEqual([422, before])
    expectTyped(browser, typed, route)
    const proof = (isRight: boolean): Record<string, string> =>
      own.secret === null
        ? { proof_password: isRight ? PASSWORD : NEW_PASSWORD }
        : { proof_code: isRight ? codeNow(own.secret) : wrongCode(own.secret) }
    // A page of its own has the fields of a button hidden.
    const again = async (isRight: boolean) => {
      const filled = { ...fields, ...browser.hidden(to), ...proof(isRight) }
      browser.page = await browser.post(to, filled)
    }
    await again(false)
    expect([browser.page.status, await state()]).toEqual([422, before])
    expect(browser.page.body).toContain('<legend>Confirm that it is you</legend>')
    expectTyped(browser, typed, route)
    await again(true)
    expect(browser.page.status).toBe(SHOWS_A_SECRET.has(route) ? 200 : 303)
    expect(browser.cookies.get(COOKIES.session.name)).not.toBe(token)
    expect((await web.service.request('GET /v1/auth/session', { token })).status).toBe(401)
  })

  it('is done once by two presses, and a reload and a way back do nothing', async () => {
    const { browser, at, to, fields } = await opened(page, world)
    const [one, two] = [tabOf(browser), tabOf(browser)]
    const first = await one.post(to, fields)
    const after = await state()
    const second = await two.post(to, fields)
    const said = /<main.*<\/main>/s.exec(second.body)?.[0] ?? ''
    if (SHOWS_A_SECRET.has(route)) expect([first.status, second.status, said]).toEqual([200, 303, ''])
    else if (REFUSED_TWICE.has(route)) expect([first.status, second.status]).toEqual([303, 422])
    else expect([first.status, second.status, said], route).toEqual([303, 303, ''])
    await one.open(first.location ?? '/')
    await one.open(first.location ?? '/')
    expect(one.page.status).toBe(200)
    await one.open(at)
    if (!ADDS_TWICE.has(route)) expect(await state()).toBe(after)
  })
})

/** The password that the second press names is the current one no longer. */
const REFUSED_TWICE = new Set(['POST /account/password'])
/** The response to the first press alone shows a secret. */
const SHOWS_A_SECRET = new Set(['POST /s/{slug}/api-keys', 'POST /s/{slug}/api-keys/{id}/rotate'])
/** What a second press does again. */
const ADDS_TWICE = new Set(['POST /verify-email/resend'])

/** What people paste, and what they forget. */
const WRONG = [
  '',
  '   ',
  'Night Shift',
  'a@b@c',
  'x'.repeat(2000),
  'https://evil.test',
  'a\u0000b',
  '1234567890',
  'Ann\nArcher',
  '\u200b',
]

const withFields = ofSession.filter(([, page]) => page.form !== null)
it.each(oneOf(5, withFields))(
  '%s refuses each wrong value in words of its own, in each language',
  async (route, page) => {
    const world = await furnished(page)
    const browser = browserOf(await sessionOf(world))
    const { at, to } = await findForm(browser, world, page)
    const shown = browser.page
    const { fields } = fill(browser, to, world.secret)
    const visible = Object.keys(fields).filter((name) => shown.body.includes(`id="field-${name}"`))
    for (const lang of ['en', 'es'] as const) {
      browser.cookies.set(COOKIES.lang.name, lang)
      for (const name of visible)
        for (const wrong of WRONG) {
          const answer = await browser.post(to, { ...fields, [name]: wrong })
          const done = SHOWS_A_SECRET.has(route) ? 200 : 303
          expect([done, 303, 422, 429], `${route} ${name} ${wrong}`).toContain(answer.status)
          const { fieldErrors, problems, failures } = TEXTS[lang]
          for (const fallback of [fieldErrors.invalid, problems.other, failures.refused.text])
            expect(answer.body, `${route} ${name} ${wrong.slice(0, 20)}`).not.toContain(fallback)
          if (answer.status === 422) expect(answer.body).toContain(`<a href="#field-`)
          if (answer.status === done) {
            await browser.open(at)
            Object.assign(fields, browser.hidden(to))
            if (fields['credential'] !== undefined) Object.assign(fields, credentialOn(browser))
            await web.service.sql`delete from app.factors where user_id = ${world.userId} and kind = 'passkey'`
          }
        }
    }
  },
)
