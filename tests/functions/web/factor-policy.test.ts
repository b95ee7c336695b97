import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COOKIES } from '#web/http/cookies.ts'
import { newFactorUser } from '#tests/support/factor.ts'
import { createMember, mintSession } from '#tests/support/minted-session.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { type Browser, startWeb, type TestWeb } from '#tests/support/web.ts'

let web: TestWeb
beforeAll(async () => {
  web = await startWeb()
})
afterAll(() => web.close())

const as = (token: string): Browser => {
  const browser = web.browser()
  browser.cookies.set(COOKIES.session.name, token)
  return browser
}

/** An owner of a new shop, with a second factor or without one. */
async function newOwner(withFactor: boolean) {
  const { slug, id, owner } = await web.service.newTenant('owner')
  const at = `/s/${slug}/settings/second-factor`
  if (!withFactor) return { browser: as(owner.token), slug, id, at }
  const user = await newFactorUser(web.service, [slug])
  await web.service.sql`update app.memberships set role_id = 1 where user_id = ${user.id}`
  const { token, id: session } = await mintSession(web.service.sql, { email: user.email, slug })
  await web.service.sql`update app.sessions set second_factor_at = created_at where id = ${session}`
  return { browser: as(token), slug, id, at }
}

const offered = ({ page }: Browser) =>
  [...page.body.matchAll(/type="radio" name="require" value="(\w+)"( checked)?/g)].map(([, value, checked]) =>
    checked === undefined ? value : `${value} checked`,
  )

describe('the page of the second-factor policy', () => {
  it('sets whom the shop asks and from when, and shows the dates that stand', async () => {
    const { browser, slug, id, at } = await newOwner(true)
    await browser.open(`/s/${slug}/settings`)
    expect(browser.page.body).toContain(`<a href="${at}">Second step at sign-in</a>`)
    await browser.open(at)
    expect(offered(browser)).toEqual(['none checked', 'managers', 'everyone'])
    await browser.submit(at, { require: 'managers', grace_days: '7' })
    expect(browser.page.body).toContain('The second step is set.')
    expect(browser.page.body).toContain('Asked of managers from')
    const [dates] = await web.service.sql`
      select second_factor_managers_from between now() + interval '6 days 23 hours' and now() + interval '7 days' as managers,
             second_factor_everyone_from as everyone from app.tenants where id = ${id}`
    expect(dates).toEqual({ managers: true, everyone: null })
    await browser.open(at)
    expect(offered(browser)).toEqual(['none', 'managers checked', 'everyone'])
    expect(browser.page.body).toContain('Asked of managers from')
    expect(browser.page.body).not.toContain('Asked of everyone from')
    await browser.submit(at, { require: 'none', grace_days: '14' })
    await browser.open(at)
    expect(offered(browser)).toEqual(['none checked', 'managers', 'everyone'])
  })

  it('says from when on the saved policy holds, in the time zone of the shop, also where an earlier date stays', async () => {
    const { browser, id, at } = await newOwner(true)
    await web.service.sql`
      update app.tenants set timezone = 'Pacific/Kiritimati', second_factor_managers_from = '2024-01-01 12:00Z' where id = ${id}`
    await browser.open(at)
    await browser.submit(at, { require: 'everyone', grace_days: '14' })
    expect(browser.page.body).toContain('The second step is set.')
    expect(browser.page.body).toMatch(
      /<dt>Asked of managers from<\/dt><dd><time[^>]* title="Jan 2, 2024, 2:00 AM GMT\+14/,
    )
    expect(browser.page.body).toContain('<dt>Asked of everyone from</dt>')
  })

  it('offers nobody who has no second factor to ask for one, and leads them to their own', async () => {
    const { browser, id, at } = await newOwner(false)
    await browser.open(at)
    expect(offered(browser)).toEqual([])
    expect(browser.page.body).toContain(`href="/account/second-factor?next=${encodeURIComponent(at)}"`)
    await web.service
      .sql`update app.tenants set second_factor_managers_from = now() + interval '1 day' where id = ${id}`
    await browser.open(at)
    expect(offered(browser)).toEqual(['none checked'])
    const fields = { ...browser.hidden(at), require: 'everyone', grace_days: '0' }
    await browser.submit(at, fields)
    expect(browser.page.status).toBe(422)
    expect(browser.page.body).toContain(
      '<a href="#field-require">Who is asked for it: Nothing was saved. Whoever asks others',
    )
    expect(browser.page.body).toContain(`href="/account/second-factor?next=${encodeURIComponent(at)}"`)
    // The next press switches nothing off that the person did not choose.
    expect(offered(browser)).toEqual(['none'])
    await browser.submit(at, { require: 'none', grace_days: '14' })
    expect(browser.page.body).toContain('The second step is set.')
    const stale = await browser.post(at, fields)
    expect([stale.status, stale.body.match(/ name="require"/)]).toEqual([422, null])
    expect(stale.body).toContain('<li>Nothing was saved. Whoever asks others')
    const [dates] = await web.service
      .sql`select second_factor_managers_from as managers, second_factor_everyone_from as everyone from app.tenants where id = ${id}`
    expect(dates).toEqual({ managers: null, everyone: null })
  })

  it('proposes 14 days at first, and then the days that leave the date that stands', async () => {
    const { browser, id, at } = await newOwner(true)
    const proposed = () => /<option value="(\d+)" selected>/.exec(browser.page.body)?.[1] ?? ''
    const date = async () =>
      (await web.service.sql`select second_factor_managers_from as at from app.tenants where id = ${id}`)[0]?.['at']
    await browser.open(at)
    expect(proposed()).toBe('14')
    await browser.submit(at, { require: 'managers', grace_days: '30' })
    const stands = await date()
    await browser.open(at)
    await browser.submit(at, { require: 'managers', grace_days: proposed() })
    expect([await date(), stands]).toEqual([stands, expect.anything()])
    await browser.submit(at, { require: 'none', grace_days: proposed() })
    await browser.open(at)
    expect(proposed()).toBe('14')
  })

  it('refuses a choice that it does not offer at the field', async () => {
    const { browser, at } = await newOwner(true)
    await browser.open(at)
    await browser.submit(at, { require: 'some', grace_days: '8' })
    expect(browser.page.status).toBe(422)
    for (const name of ['require', 'grace_days']) expect(browser.page.body).toContain(`<a href="#field-${name}">`)
  })
})

it('lists the members who have no second factor, and says so in the filter', async () => {
  const { browser, slug, at } = await newOwner(true)
  await createMember(web.service.sql, { email: `plain@${slug}.test`, slug })
  await browser.open(at)
  const link = /href="([^"]*\/members\?[^"]*)"/.exec(browser.page.body)?.[1] ?? ''
  await browser.open(link.replaceAll('&amp;', '&'))
  expect(browser.page.body).toContain(`plain@${slug}.test`)
  expect(browser.page.body).toContain('<option value="false" selected>Without</option>')
  const rows = browser.page.body.match(/<tr>/g)?.length
  await browser.open(`/s/${slug}/members?second_factor=true`)
  expect(browser.page.body).not.toContain(`plain@${slug}.test`)
  expect(rows).toBeGreaterThan(1)
})

describe('before the date, a page of the shop', () => {
  const ASKED = /<p class="banner">From ([^<]*), this shop asks you for a second step at sign-in. <a href="([^"]*)">/
  const banner = ({ page }: Browser) => ASKED.exec(page.body)?.slice(1) ?? null

  /** A shop that asks in some days, with the browsers of people who have no second factor. */
  async function newAskingShop(days: { managers: number; everyone: number | null }) {
    const { slug, id, owner, sales } = await web.service.newTenant('owner', 'sales')
    await web.service.sql`
      update app.tenants set timezone = 'America/Chicago', second_factor_managers_from = timestamptz '2100-01-01 12:00Z' + make_interval(days => ${days.managers}),
             second_factor_everyone_from = timestamptz '2100-01-01 12:00Z' + make_interval(days => ${days.everyone}) where id = ${id}`
    return { slug, id, owner: as(owner.token), sales: as(sales.token), ownerId: owner.userId }
  }

  it('says from when on it asks, and leads to set up a second step and back', async () => {
    const { slug, owner } = await newAskingShop({ managers: 1, everyone: null })
    await owner.open(`/s/${slug}/members?status=active`)
    const [from, link = ''] = banner(owner) ?? []
    expect(from).toBe('Jan 2, 2100, 6:00 AM CST')
    const next = `/s/${slug}/members?status=active`
    expect(link).toBe(`/account/second-factor?next=${encodeURIComponent(next)}`)
    await owner.open(link)
    expect(owner.hidden('/account/second-factor/start')).toHaveProperty('next', next)
    expect(banner(owner)).toBeNull()
    owner.cookies.set(COOKIES.lang.name, 'es')
    await owner.open(`/s/${slug}`)
    expect(owner.page.body).toContain('A partir del 2 ene 2100, 6:00')
  })

  it('says it to managers alone, or to everyone with the date of their role', async () => {
    const managers = await newAskingShop({ managers: 1, everyone: null })
    await managers.sales.open(`/s/${managers.slug}`)
    expect([managers.sales.page.status, banner(managers.sales)]).toEqual([200, null])
    const everyone = await newAskingShop({ managers: 1, everyone: 2 })
    for (const [browser, day] of [
      [everyone.owner, 2],
      [everyone.sales, 3],
    ] as const) {
      await browser.open(`/s/${everyone.slug}`)
      expect(banner(browser)?.[0]).toBe(`Jan ${day}, 2100, 6:00 AM CST`)
    }
  })

  it('says it on a refused form and on a page that is not there, and not on the page of another shop or on one of the person', async () => {
    const { slug, owner, ownerId } = await newAskingShop({ managers: 1, everyone: null })
    const other = await web.service.newTenant('owner')
    await web.service
      .sql`insert into app.memberships (tenant_id, user_id, role_id, accepted_at) values (${other.id}, ${ownerId}, 1, now())`
    await owner.open(`/s/${slug}/settings`)
    await owner.submit(`/s/${slug}/settings`, { legal_name: '', timezone: '', currency: '' })
    const next = encodeURIComponent(`/s/${slug}/settings`)
    expect([owner.page.status, banner(owner)?.[1]]).toEqual([422, `/account/second-factor?next=${next}`])
    await owner.open(`/s/${slug.toUpperCase()}/members/0a5b8f52-6c1d-4f7e-9b3a-2d4c6e8f0a1b/role`)
    expect([owner.page.status, banner(owner) !== null]).toEqual([404, true])
    for (const [address, status] of [
      [`/s/${other.slug}`, 409],
      [`/s/${slug}-2`, 404],
      ['/shops', 200],
      ['/account', 200],
    ] as const) {
      await owner.open(address)
      expect([owner.page.status, banner(owner)], address).toEqual([status, null])
    }
  })

  it('says nothing in a two-factor session, nor before a shop asks', async () => {
    const { browser, slug, id } = await newOwner(true)
    await web.service
      .sql`update app.tenants set second_factor_managers_from = now() + interval '1 day' where id = ${id}`
    await browser.open(`/s/${slug}`)
    expect([browser.page.status, browser.page.body.includes('second step')]).toEqual([200, false])
    const plain = await newOwner(false)
    await plain.browser.open(`/s/${plain.slug}`)
    expect([plain.browser.page.status, plain.browser.page.body.includes('second step')]).toEqual([200, false])
  })

  it('is replaced on the date by the sign-in, which leads to set up a second step', async () => {
    const { slug, id, owner, ownerId } = await newAskingShop({ managers: 1, everyone: null })
    const { sql } = web.service
    await sql`
      update app.users set password_hash = (select password_hash from app.users where email = 'sales@acme.test') where id = ${ownerId}`
    const at = `/s/${slug}/members`
    await sql`update app.tenants set second_factor_managers_from = now() + interval '1 minute' where id = ${id}`
    await owner.open(at)
    expect(banner(owner)).not.toBeNull()
    await sql`update app.tenants set second_factor_managers_from = now() where id = ${id}`
    await owner.open(at)
    expect(owner.page.body).toContain('<h1>Sign in</h1>')
    await owner.submit('/sign-in', { email: `owner@${slug}.test`, password: PASSWORD })
    expect(owner.page.body).toContain('This shop asks for a second step. Set one up first.')
    expect(banner(owner)).toBeNull()
    expect(owner.hidden('/account/second-factor/start')).toHaveProperty('next', `/shops?next=${encodeURIComponent(at)}`)
  })
})
