import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { COOKIES } from '#web/cookies.ts'
import { needsSession } from '#web/csrf.ts'
import { PAGE_HEADERS } from '#web/headers.ts'
import type { Page } from '#web/page.ts'
import { PAGES } from '#web/pages.ts'
import { text } from '#web/reply.ts'
import { Browser, type PageAnswer, type Sent, startWeb, type TestWeb, WEB_ORIGIN } from '#tests/support/web.ts'

const HANDLED = 'the page did its work'
// A name of a person has no slash.
const MARKUP = `<img title="a" id='b'>&`
const OTHER_ID = '0a5b8f52-6c1d-4f7e-9b3a-2d4c6e8f0a1b'

let web: TestWeb
let ids: Readonly<Record<string, string>>
let handled: string[] = []
let owner: Browser

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
  const { slug, id, owner: member } = await web.service.newTenant('owner')
  await web.service.sql`update app.tenants set legal_name = ${MARKUP} where id = ${id}`
  await web.service.sql`update app.users set full_name = ${MARKUP} where id = ${member.userId}`
  ids = { slug, id: OTHER_ID, role: '1', kind: 'last-owner' }
  owner = withSession(member.token)
  await owner.open(`/s/${slug}`)
})
afterAll(() => web.close())
beforeEach(() => {
  handled = []
})

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
const ofShop = forms.filter(([, { access }]) => typeof access === 'object')

/** Returns a browser that may send the form, and the CSRF field that it would send. */
async function sender(page: Page): Promise<{ browser: Browser; field: string }> {
  const browser = copyOf(needsSession(page) ? owner : web.browser())
  if (needsSession(page)) return { browser, field: browser.cookies.get(COOKIES.csrf.name) ?? '' }
  await browser.open('/sign-in')
  return { browser, field: web.formField(browser.cookies.get(COOKIES.form.name) ?? '', page.route) }
}

const send = (browser: Browser, page: Page, fields: [string, string][], headers: Sent['headers'] = {}) =>
  browser.request(addressOf(page), {
    method: 'POST',
    body: new URLSearchParams(fields).toString(),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
      origin: WEB_ORIGIN,
      ...headers,
    },
  })

function expectHeaders({ headers, cookies }: PageAnswer, cache = 'no-store'): void {
  for (const [name, value] of Object.entries(PAGE_HEADERS)) expect(headers.get(name), name).toBe(value)
  expect(headers.get('cache-control')).toBe(cache)
  expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  for (const cookie of cookies)
    expect(cookie).toMatch(
      /^__Host-tenantry(-[a-z]+)?=[\w-]*; Path=\/; Secure; HttpOnly; SameSite=Lax(; Max-Age=\d+)?$/,
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

  it('refuses every forged form with 403, and does nothing', async () => {
    const { browser, field } = await sender(page)
    const own: [string, string][] = [['csrf', field]]
    const otherField = needsSession(page) ? (await web.service.newTenant('owner')).owner : null
    const forged: [string, PageAnswer][] = []
    const add = async (fault: string, answer: Promise<PageAnswer>) => forged.push([fault, await answer])
    await add('no field', send(browser, page, []))
    await add('an empty field', send(browser, page, [['csrf', '']]))
    await add('the field twice', send(browser, page, [...own, ...own]))
    await add('a shortened field', send(browser, page, [['csrf', field.slice(1)]]))
    for (const site of ['cross-site', 'same-site', 'none', ''])
      await add(`Sec-Fetch-Site: ${site}`, send(browser, page, own, { 'sec-fetch-site': site }))
    await add('Sec-Fetch-Site twice', send(browser, page, own, { 'sec-fetch-site': ['cross-site', 'same-origin'] }))
    for (const origin of ['https://evil.test', 'null', `${WEB_ORIGIN}.evil.test`, 'http://app.tenantry.test', ''])
      await add(`Origin: ${origin}`, send(browser, page, own, { 'sec-fetch-site': undefined, origin }))
    if (otherField !== null) {
      const other = withSession(otherField.token)
      await other.open('/shops')
      const otherCsrf = other.cookies.get(COOKIES.csrf.name) ?? ''
      await add("another session's field", send(browser, page, [['csrf', otherCsrf]]))
      const planted = copyOf(browser)
      planted.cookies.set(COOKIES.csrf.name, otherCsrf)
      await add("another session's field and cookie", send(planted, page, [['csrf', otherCsrf]]))
      const without = copyOf(browser)
      without.cookies.delete(COOKIES.csrf.name)
      await add('no cookie', send(without, page, own))
    } else {
      const secret = browser.cookies.get(COOKIES.form.name) ?? ''
      await add("another form's field", send(browser, page, [['csrf', web.formField(secret, 'POST /other')]]))
      const other = await sender(page)
      await add("another browser's field", send(browser, page, [['csrf', other.field]]))
      const without = copyOf(browser)
      without.cookies.delete(COOKIES.form.name)
      await add('no cookie', send(without, page, own))
    }
    for (const [fault, answer] of forged) {
      expect(answer.status, fault).toBe(403)
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
    expect([...browser.cookies.keys()].filter((name) => name === COOKIES.session.name)).toEqual([])
  }
  expect(handled).toEqual([])
})

it.each(ofShop)('%s shows the switch page or 404 in another shop, and does nothing', async (_route, page) => {
  const { browser, field } = await sender(page)
  const { slug } = ids
  const [mine, theirs] = [await web.service.newTenant('owner'), await web.service.newTenant('owner')]
  await web.service.sql`
    insert into app.memberships (tenant_id, user_id, role_id, accepted_at)
    select ${mine.id}, s.user_id, 1, now() from app.sessions s join app.tenants t on t.id = s.tenant_id where t.slug = ${slug ?? ''} limit 1`
  const to = (other: string) => ({ ...page, path: page.path.replace('{slug}', other) })
  expect((await send(browser, to(mine.slug), [['csrf', field]])).status).toBe(409)
  const [foreign, none] = [
    await send(browser, to(theirs.slug), [['csrf', field]]),
    await send(browser, to('no-such-shop'), [['csrf', field]]),
  ]
  expect([foreign.status, none.status]).toEqual([404, 404])
  expect(handled).toEqual([])
})

it.each(views)('%s has the headers of every page, and escapes names', async (_route, page) => {
  const browser = copyOf(owner)
  const answer = await browser.request(addressOf(page))
  const isAsset = /\.(css|svg)$/.test(page.path)
  expectHeaders(answer, isAsset ? 'public, max-age=31536000, immutable' : 'no-store')
  expect(answer.body).not.toMatch(/<img|<script|style="|javascript:/i)
  const token = browser.cookies.get(COOKIES.session.name) ?? ''
  expect(answer.body + JSON.stringify([...answer.headers])).not.toContain(token)
  if (answer.headers.get('content-type')?.startsWith('text/html') !== true) return
  expect(answer.body.match(/<h1>/g)).toHaveLength(1)
  expect(answer.body).toMatch(/^<!doctype html>\n<html lang="en">/)
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
