import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { encodeSession, SESSION_HEADER } from '#shared/identity/session-header.ts'
import { COOKIES } from '#web/http/cookies.ts'
import { needsSession } from '#web/http/csrf.ts'
import { PAGE_HEADERS, PASSKEY_HEADERS, SCRIPT_POLICY } from '#web/http/headers.ts'
import type { Page } from '#web/http/page.ts'
import { PAGES } from '#web/http/pages.ts'
import { text } from '#web/http/reply.ts'
import { newFactorUser } from '#tests/support/factor.ts'
import { STYLE_SHEET } from '#web/view/style.ts'
import { type Browser, type PageAnswer, type Sent, startWeb, type TestWeb, WEB_ORIGIN } from '#tests/support/web.ts'

const HANDLED = 'the page did its work'
// A name of a person has no slash.
const MARKUP = `<img title="a" id='b'>&`
// The ids in the examples of the API document.
const EXAMPLE_ID = '0a5b8f52-6c1d-4f7e-9b3a-2d4c6e8f0a1b'
const EXAMPLE_ROLE = '3'

let web: TestWeb
let ids: Readonly<Record<string, string>>
let handled: string[] = []
/** The sealed cookie of a sign-in that owes a second factor. */
let openSignIn: string
let owner: Browser
/** The browser of a member whose role has no permission. */
let powerless: Browser
/** The field and the cookie of another session. */
let otherCsrf: string
/** The slugs of another tenant of the owner, and of one where the owner is no member. */
let shops: { readonly mine: string; readonly theirs: string }

// The real pages, of which those that are sent a form only say that they would do it.
const recorded = PAGES.map((page): Page => {
  if (page.method === 'GET') return page
  const handle = async () => {
    handled.push(page.route)
    return text('text/plain', HANDLED)
  }
  return { ...page, form: null, handle }
})

beforeAll(async () => {
  web = await startWeb({ pages: recorded })
  await web.service.sql`insert into app.roles (id, code, label, rank) values (90, 'planted', 'No permission', 1)`
  const { slug, id, owner: member, planted } = await web.service.newTenant('owner', 'planted')
  const [mine, theirs] = [await web.service.newTenant('owner'), await web.service.newTenant('owner')]
  shops = { mine: mine.slug, theirs: theirs.slug }
  await web.service.sql`
    update app.tenants set legal_name = ${MARKUP}, second_factor_managers_from = now() + interval '9 days' where id = ${id}`
  await web.service.sql`update app.users set full_name = ${MARKUP} where id = ${member.userId}`
  await web.service.sql`
    insert into app.memberships (tenant_id, user_id, role_id, accepted_at) values (${mine.id}, ${member.userId}, 1, now())`
  openSignIn = await owingCookie()
  ids = { slug, id: EXAMPLE_ID, role: EXAMPLE_ROLE, kind: 'last-owner', file: STYLE_SHEET.path.replace('/assets/', '') }
  owner = withSession(member.token)
  await owner.open(`/s/${slug}`)
  powerless = withSession(planted.token)
  await powerless.open(`/s/${slug}`)
  otherCsrf = powerless.cookies.get(COOKIES.csrf.name) ?? ''
})
afterAll(() => web.close())
beforeEach(() => {
  handled = []
})

const { paths, components } = JSON.parse(await readFile('functions/api/openapi/document.json', 'utf8'))
const contentOf = (method: string, path: string) =>
  paths[path][method.toLowerCase()].responses['200'].content['application/json']

/** Returns an example with markup in the place of every text. A form, a list of values, a pattern or a time zone excludes markup. */
function withMarkup(value: any, schema: any): unknown {
  if (schema.$ref !== undefined) return withMarkup(value, components.schemas[schema.$ref.split('/').at(-1)])
  if (schema.anyOf !== undefined) return withMarkup(value, schema.anyOf[0])
  if (Array.isArray(value)) return value.map((each) => withMarkup(each, schema.items))
  if (typeof value === 'string')
    return (schema.format ?? schema.enum ?? schema.const ?? schema.pattern) ? value : MARKUP
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      name === 'timezone' ? each : withMarkup(each, schema.properties?.[name] ?? {}),
    ]),
  )
}

/** Enters the password of a user with a second factor. The pages of this test do no work. */
async function owingCookie(): Promise<string> {
  const { email } = await newFactorUser(web.service)
  const real = await startWeb({ service: web.service })
  const browser = real.browser()
  await browser.signIn(email)
  return browser.cookies.get(COOKIES.signIn.name) ?? ''
}

function withSession(token: string): Browser {
  const browser = web.browser()
  browser.cookies.set(COOKIES.session.name, token)
  return browser
}

/** A browser with the cookies of another. */
function copyOf(browser: Browser): Browser {
  const copy = web.browser()
  for (const [name, value] of browser.cookies) copy.cookies.set(name, value)
  return copy
}

const addressOf = ({ path }: Page): string => path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? '')
const routesOf = (pages: readonly Page[]) => pages.map((page) => [page.route, page] as const)
const forms = routesOf(PAGES.filter(({ method }) => method === 'POST'))
const views = routesOf(PAGES.filter(({ method }) => method === 'GET'))
const ofSession = (pages: typeof forms) => pages.filter(([, page]) => needsSession(page))
/** A file has no markup. It is saved, and never shown. */
const isFile = ({ path }: Page) => /\.(csv|ndjson)$/.test(path)
const ofShop = [...views, ...forms].filter(([, { access }]) => typeof access === 'object')

/** Returns a browser that may send the form, and the CSRF field that it would send. */
async function sender(page: Page): Promise<{ browser: Browser; field: string }> {
  const browser = copyOf(needsSession(page) ? owner : web.browser())
  if (needsSession(page)) return { browser, field: browser.cookies.get(COOKIES.csrf.name) ?? '' }
  await browser.open('/sign-in')
  if (page.path.startsWith('/sign-in/')) browser.cookies.set(COOKIES.signIn.name, openSignIn)
  return { browser, field: web.formField(browser.cookies.get(COOKIES.form.name) ?? '', page.route) }
}

const send = (browser: Browser, page: Page, fields: [string, string][], headers: Sent['headers'] = {}) =>
  browser.post(addressOf(page), fields, headers)

function expectHeaders({ headers, cookies, body }: PageAnswer, cache = 'no-store'): void {
  const policy = !body.includes('<form class="form"')
    ? {}
    : / data-passkey="[^"]+" defer>/.test(body)
      ? PASSKEY_HEADERS
      : { 'content-security-policy': SCRIPT_POLICY }
  for (const [name, value] of Object.entries({ ...PAGE_HEADERS, ...policy }))
    expect(headers.get(name), name).toBe(value)
  expect(headers.get('cache-control')).toBe(cache)
  expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  for (const cookie of cookies)
    expect(cookie).toMatch(
      /^__Host-tenantry(-[a-z]+)?=[\w.-]*; Path=\/; Secure; HttpOnly; SameSite=Lax(; Max-Age=\d+)?$/,
    )
}

describe.each(forms)('%s', (_route, page) => {
  it('does its work for its own form', async () => {
    const { browser, field } = await sender(page)
    const answer = await send(browser, page, [['csrf', field]])
    expect([answer.status, answer.body]).toEqual([200, HANDLED])
    expect(handled).toEqual([page.route])
    // Old browsers send neither header: then the field decides.
    const old = { 'sec-fetch-site': undefined, origin: undefined }
    expect((await send(browser, page, [['csrf', field]], old)).body).toBe(HANDLED)
  })

  it('refuses every forged form with 403, shows an old form of ours again with 422, and does nothing', async () => {
    const { browser, field } = await sender(page)
    const own: [string, string][] = [['csrf', field]]
    const forged: [string, PageAnswer][] = []
    const old: [string, PageAnswer][] = []
    const add = async (fault: string, sender: Browser, fields: [string, string][]) => {
      old.push([fault, await send(copyOf(sender), page, fields)])
      // Nothing says that our own page sent it.
      forged.push([fault, await send(copyOf(sender), page, fields, { 'sec-fetch-site': undefined, origin: undefined })])
    }
    await add('no field', browser, [])
    await add('an empty field', browser, [['csrf', '']])
    await add('the field twice', browser, [...own, ...own])
    await add('a shortened field', browser, [['csrf', field.slice(1)]])
    const from = async (fault: string, headers: Sent['headers']) =>
      forged.push([fault, await send(browser, page, own, headers)])
    for (const site of ['cross-site', 'same-site', 'none', ''])
      await from(`Sec-Fetch-Site: ${site}`, { 'sec-fetch-site': site })
    await from('Sec-Fetch-Site twice', { 'sec-fetch-site': ['cross-site', 'same-origin'] })
    for (const origin of ['https://evil.test', 'null', `${WEB_ORIGIN}.evil.test`, 'http://app.tenantry.test', ''])
      await from(`Origin: ${origin}`, { 'sec-fetch-site': undefined, origin })
    if (needsSession(page)) {
      await add("another session's field", browser, [['csrf', otherCsrf]])
      const planted = copyOf(browser)
      planted.cookies.set(COOKIES.csrf.name, otherCsrf)
      await add("another session's field and cookie", planted, [['csrf', otherCsrf]])
      const without = copyOf(browser)
      without.cookies.delete(COOKIES.csrf.name)
      await add('no cookie', without, own)
    } else {
      const secret = browser.cookies.get(COOKIES.form.name) ?? ''
      await add("another form's field", browser, [['csrf', web.formField(secret, 'POST /other')]])
      const other = await sender(page)
      await add("another browser's field", browser, [['csrf', other.field]])
      const without = copyOf(browser)
      without.cookies.delete(COOKIES.form.name)
      await add('no cookie', without, own)
    }
    for (const [fault, answer] of forged) {
      expect(answer.status, fault).toBe(403)
      expect(answer.body, fault).not.toContain('Your role')
      expectHeaders(answer)
    }
    for (const [fault, answer] of old) {
      // The form of an example that is not there.
      if (answer.status === 404) continue
      expect(answer.status, fault).toBe(422)
      expect(answer.body, fault).toMatch(/open for too long|Open the link in the mail again/)
      expectHeaders(answer)
    }
    expect(handled).toEqual([])
  })

  it('refuses what is no form with 415, and a large form with 413', async () => {
    const { browser, field } = await sender(page)
    const types = [
      'text/plain',
      'application/json',
      'multipart/form-data; boundary=x',
      'application/x-www-form-urlencoded, text/plain',
      undefined,
    ]
    for (const type of types)
      expect((await send(browser, page, [['csrf', field]], { 'content-type': type })).status, type).toBe(415)
    expect(
      (
        await send(browser, page, [
          ['csrf', field],
          ['a', 'x'.repeat(16 * 1024)],
        ])
      ).status,
    ).toBe(413)
    expect(handled).toEqual([])
  })
})

it.each(ofSession(forms))('%s leads to the sign-in without a session', async (_route, page) => {
  const { field } = await sender(page)
  for (const token of [null, 'A'.repeat(43), 'malformed']) {
    const browser = token === null ? web.browser() : withSession(token)
    browser.cookies.set(COOKIES.csrf.name, field)
    const answer = await send(browser, page, [['csrf', field]])
    expect([answer.status, answer.location?.split('?')[0]]).toEqual([303, '/sign-in'])
    expect(answer.cookies.join()).not.toContain(`${COOKIES.session.name}=;`)
    await browser.open(answer.location ?? '')
    expect([...browser.cookies.keys()].filter((name) => name === COOKIES.session.name)).toEqual([])
  }
  expect(handled).toEqual([])
})

it.each(ofShop)('%s is the switch page or 404 in another shop, and does nothing', async (_route, page) => {
  const open = (slug: string) => {
    const there = { ...page, path: page.path.replace('{slug}', slug) }
    const field = owner.cookies.get(COOKIES.csrf.name) ?? ''
    return page.method === 'GET' ? owner.request(addressOf(there)) : send(owner, there, [['csrf', field]])
  }
  const [mine, theirs, none] = [await open(shops.mine), await open(shops.theirs), await open('no-such-shop')]
  expect([mine.status, theirs.status, none.status]).toEqual([409, 404, 404])
  expect(mine.body.match(/<main.*<\/main>/s)?.[0].match(/<button/g)).toHaveLength(1)
  expect(handled).toEqual([])
})

const ofPermission = ofShop.filter(([, { access }]) => typeof access === 'object' && access.permission !== null)
it.each(ofPermission)('%s is 403 for a role without the permission, and does nothing', async (_route, page) => {
  const answer =
    page.method === 'GET'
      ? await powerless.request(addressOf(page))
      : await send(powerless, page, [['csrf', otherCsrf]])
  expect(answer.status).toBe(403)
  expect(handled).toEqual([])
})

it.each(views)('%s has the headers of every page, and escapes names', async (_route, page) => {
  const browser = copyOf(owner)
  const answer = await browser.request(addressOf(page))
  const isAsset = page.path.startsWith('/assets/')
  expectHeaders(answer, isAsset ? 'public, max-age=31536000, immutable' : 'no-store')
  if (!isFile(page))
    expect(answer.body).not.toMatch(
      /<img|<script(?! src="\/assets\/enhance-\w+\.js" data-working="Working…"(?: data-passkey="[^"]+")? defer><\/script>)|style="|javascript:/i,
    )
  const token = browser.cookies.get(COOKIES.session.name) ?? ''
  expect(answer.body + JSON.stringify([...answer.headers])).not.toContain(token)
  if (answer.headers.get('content-type')?.startsWith('text/html') !== true) return
  expect(answer.body.match(/<h1>/g)).toHaveLength(1)
  expect(answer.body).toMatch(/^<!doctype html>\n<html lang="en">/)
})

/** Who is removed, and then the API keys that they created; what a passkey is made with, and the recovery codes. */
const READS_TWICE = new Set(['/s/{slug}/members/{id}/remove', '/account/second-factor/passkey'])

it.each(ofSession(views).filter(([, page]) => !isFile(page)))(
  '%s escapes each text of the API, in one call of it, and says on a page of a shop from when on it asks for a second step',
  async (_route, page) => {
    const { body: me } = await web.service.request('GET /v1/auth/session', {
      token: owner.cookies.get(COOKIES.session.name),
    })
    const calls: string[] = []
    web.breakApi(async ({ method, path, headers }) => {
      calls.push(`${method} ${path}`)
      const brought = headers['prefer'] === 'session' ? { [SESSION_HEADER]: encodeSession(me) } : {}
      const { example, schema } = contentOf(method, path)
      return Response.json(path === '/v1/auth/session' ? me : withMarkup(example, schema), { headers: brought })
    })
    const answer = await owner.request(addressOf(page)).finally(() => web.breakApi(null))
    expect(calls).toHaveLength(READS_TWICE.has(page.path) ? 2 : 1)
    expect([200, 303]).toContain(answer.status)
    if (answer.status === 200) expect(answer.body).toContain('&lt;img title=&quot;a&quot; id=&#39;b&#39;&gt;&amp;')
    expect(answer.body).not.toMatch(/<img|title="a"|id='b'/)
    const isOfShop = page.path.startsWith('/s/') && answer.status === 200
    expect(answer.body.includes('this shop asks you for a second step')).toBe(isOfShop)
  },
)

const FORMATS = ['DateTimeFormat', 'RelativeTimeFormat', 'NumberFormat', 'DisplayNames'] as const

it.each(ofSession(views))('%s makes no format of Intl that an earlier page made', async (_route, page) => {
  await owner.request(addressOf(page))
  const made = FORMATS.map((name) => vi.spyOn(Intl, name))
  await owner.request(addressOf(page)).finally(() => vi.restoreAllMocks())
  expect(made.flatMap(({ mock }) => mock.calls)).toEqual([])
})

it.each(views)('%s accepts no other method', async (_route, page) => {
  for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
    const answer = await owner.request(addressOf(page), { method })
    expect(answer.status).toBe(405)
    expect(answer.headers.get('allow')?.split(', ')).toContain('GET')
    expectHeaders(answer)
  }
})

it.each(ofSession(views))('%s leads to the sign-in without a session, and back after it', async (_route, page) => {
  const answer = await web.browser().request(addressOf(page))
  expect([answer.status, answer.location]).toEqual([303, `/sign-in?next=${encodeURIComponent(addressOf(page))}`])
  expectHeaders(answer)
  const ended = withSession('A'.repeat(43))
  expect((await ended.request(addressOf(page))).location).toContain('notice=session-ended')
  expect(ended.cookies.has(COOKIES.session.name)).toBe(true)
  await ended.open('/sign-in')
  expect(ended.cookies.has(COOKIES.session.name)).toBe(false)
})

it.each(ofSession(views))(
  '%s is a 503 with Retry-After while the API fails, and keeps the cookies',
  async (_route, page) => {
    const broken = [
      async () => Promise.reject(new Error('no response')),
      async () => new Response('{}', { status: 500 }),
      async () => new Response('oops', { status: 502 }),
    ]
    for (const send of broken) {
      web.breakApi(send)
      const browser = copyOf(owner)
      const answer = await browser.request(addressOf(page)).finally(() => web.breakApi(null))
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
      expect(browser.cookies.get(COOKIES.session.name)).toBe(owner.cookies.get(COOKIES.session.name))
      expectHeaders(answer)
    }
  },
)

it('names each page once, and each address below /s/{slug} has a permission', () => {
  const routes = PAGES.map(({ route }) => route)
  expect(new Set(routes).size).toBe(routes.length)
})
