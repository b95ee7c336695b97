import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COOKIES } from '#web/http/cookies.ts'
import { newFactorUser } from '#tests/support/factor.ts'
import { createMember, mintSession } from '#tests/support/minted-session.ts'
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
