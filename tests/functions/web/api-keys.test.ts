import { mayKeysHold, PERMISSIONS } from '#shared/identity/permissions.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isApiKey } from '#shared/secret/api-key.ts'
import { COOKIES } from '#web/http/cookies.ts'
import { type Browser, startWeb, type TestWeb } from '#tests/support/web.ts'

let web: TestWeb
beforeAll(async () => {
  web = await startWeb()
})
afterAll(() => web.close())

/** A new shop, the browser of a person there, and the address of the shop's keys. */
async function newShop(role: 'owner' | 'admin' | 'sales' = 'owner') {
  const { slug, id, [role]: person } = await web.service.newTenant('owner', 'admin', 'sales')
  const browser = web.browser()
  browser.cookies.set(COOKIES.session.name, person.token)
  return { slug, id, browser, base: `/s/${slug}/api-keys` }
}

const secretOn = ({ page: { body } }: Browser): string =>
  /<code class="key whole">(tnk_\w+)<\/code>/.exec(body)?.[1] ?? ''
const main = ({ page: { body } }: Browser): string => /<main.*<\/main>/s.exec(body)?.[0] ?? ''
const inDays = (time: string): number => Math.round((Date.parse(time) - Date.now()) / 86_400_000)
const currentKey = (token: string) => web.service.request('GET /v1/api-keys/current', { token })

async function created(shop: Awaited<ReturnType<typeof newShop>>, fields: Readonly<Record<string, string>> = {}) {
  const { browser, base } = shop
  await browser.open(`${base}/new`)
  await browser.submit(base, { name: 'Nightly export', days: '30', 'may-deal.read': 'yes', ...fields })
  const key = secretOn(browser)
  const { body } = await currentKey(key)
  return { key, id: body.id as string, ...body }
}

describe('the page that creates a key', () => {
  it('shows a key that works, with the chosen permissions and life, in the response to its form alone', async () => {
    const shop = await newShop()
    const { browser, base, slug } = shop
    await browser.open(`/s/${slug}`)
    expect(browser.page.body).toContain(`href="${base}">API keys</a>`)
    const { key, id, permissions, expires_at } = await created(shop, { 'may-catalog.read': 'yes' })
    expect([browser.page.status, isApiKey(key)]).toEqual([200, true])
    expect(browser.page.headers.get('cache-control')).toBe('no-store')
    expect(browser.page.body).toContain('Copy it now. We cannot show it again.')
    expect([permissions, inDays(expires_at)]).toEqual([['catalog.read', 'deal.read'], 30])
    expect(JSON.stringify([...browser.cookies, ...browser.page.headers])).not.toContain('tnk_')
    for (const path of ['', '?status=live', '?status=revoked', `/${id}/name`, `/${id}/rotate`, `/${id}/revoke`]) {
      await browser.open(`${base}${path}`)
      expect(browser.page.status).toBe(200)
      expect(browser.page.body).not.toContain('tnk_')
    }
    await browser.open(`/s/${slug}/audit-log`)
    expect(browser.page.body).not.toContain('tnk_')
  })

  it('creates no second key when it is reloaded, and says where to make another secret', async () => {
    const shop = await newShop()
    const { browser, base } = shop
    await browser.open(`${base}/new`)
    const fields = { ...browser.hidden(base), name: 'Nightly export', days: '90', 'may-deal.read': 'yes' }
    browser.page = await browser.post(base, fields)
    const key = secretOn(browser)
    const { body } = await currentKey(key)
    const again = await browser.post(base, fields)
    expect([again.status, again.location]).toEqual([303, `${base}/${body.id}/rotate?notice=key-created-before`])
    await browser.open(again.location ?? '')
    expect(main(browser)).toContain('The key Nightly export was created by your first press')
    expect(await web.service.sql`select id from app.api_keys where tenant_id = ${shop.id}`).toHaveLength(1)
    expect((await currentKey(key)).status).toBe(200)
    // The name is taken by a key that may do something else: that is no second press.
    await browser.open(`${base}/new`)
    await browser.submit(base, { name: 'Nightly export', 'may-deal.write': 'yes', days: '1' })
    expect([browser.page.status, browser.page.body.includes('A key of the shop has this name already.')]).toEqual([
      422,
      true,
    ])
    // Nor is it one hours later.
    await web.service
      .sql`update app.api_keys set created_at = created_at - interval '2 hours' where tenant_id = ${shop.id}`
    browser.page = await browser.post(base, fields)
    expect(browser.page.status).toBe(422)
  })

  it('offers what the person may give and a key may hold, and refuses the rest at the field', async () => {
    const { browser, base } = await newShop()
    const offered = () => [...main(browser).matchAll(/type="checkbox" name="may-([^"]*)"/g)].map(([, code]) => code)
    await browser.open(`${base}/new`)
    expect(offered()).toEqual(expect.arrayContaining(['deal.read', 'deal.price.write']))
    for (const never of ['design.approve', 'member.manage', 'vendor.manage']) expect(offered()).not.toContain(never)
    expect(offered()).toEqual(PERMISSIONS.filter(mayKeysHold))
    await browser.submit(base, { name: 'Nightly export', days: '90' })
    expect(browser.page.status).toBe(422)
    expect(main(browser)).toContain('<a href="#field-permissions">What the key may do: Choose what the key may do.</a>')
  })

  it('asks for the password when the last proof is old, and keeps what was typed', async () => {
    const { browser, base, id } = await newShop()
    await web.service
      .sql`update app.sessions set stepped_up_at = stepped_up_at - interval '1 hour' where tenant_id = ${id}`
    await browser.open(`${base}/new`)
    expect(main(browser)).toContain('Confirm that it is you')
    await browser.submit(base, { name: 'Nightly export', days: '7', 'may-deal.read': 'yes' })
    expect(browser.page.status).toBe(422)
    expect(main(browser)).toContain('value="Nightly export"')
    expect(main(browser)).toContain('name="may-deal.read" value="yes" checked')
    expect(await web.service.sql`select id from app.api_keys where tenant_id = ${id}`).toEqual([])
  })
})

describe('the page that makes a new secret', () => {
  it('keeps the previous secret for the chosen time, and a reload replaces no other', async () => {
    const shop = await newShop()
    const { browser, base } = shop
    const { key, id } = await created(shop)
    const to = `${base}/${id}/rotate`
    await browser.open(to)
    const fields = { ...browser.hidden(to), overlap: '3600', days: '' }
    browser.page = await browser.post(to, fields)
    const next = secretOn(browser)
    expect([browser.page.status, isApiKey(next), next === key]).toEqual([200, true, false])
    expect(main(browser)).toContain('The previous secret works until')
    expect([(await currentKey(key)).status, (await currentKey(next)).status]).toEqual([200, 200])
    const again = await browser.post(to, fields)
    expect([again.status, again.location]).toEqual([303, `${to}?notice=key-rotated-before`])
    expect([(await currentKey(key)).status, (await currentKey(next)).status]).toEqual([200, 200])
    await browser.open(again.location ?? '')
    expect(main(browser)).toContain('has a new secret already')
    await browser.submit(to, { overlap: '0', days: '180' })
    const last = secretOn(browser)
    const { status, body } = await currentKey(last)
    expect([status, inDays(body.expires_at)]).toEqual([200, 180])
    expect([(await currentKey(key)).status, (await currentKey(next)).status]).toEqual([401, 401])
  })
})

it('lists what each key may do, who created it, when it was used and when it expires, and warns from 14 days on', async () => {
  const shop = await newShop()
  const { browser, base, id: tenant } = shop
  const { key } = await created(shop)
  await browser.open(base)
  for (const text of ['Nightly export', `…${key.slice(-4)}`, 'see deals', 'Live']) expect(main(browser)).toContain(text)
  await web.service
    .sql`update app.api_keys set last_used_at = null, expires_at = now() + interval '15 days' where tenant_id = ${tenant}`
  await browser.open(base)
  expect(main(browser)).toContain('Never')
  expect(main(browser)).not.toContain('Expires soon')
  await web.service.sql`update app.api_keys set expires_at = now() + interval '13 days' where tenant_id = ${tenant}`
  await browser.open(base)
  expect(main(browser)).toContain('Expires soon')
})

it('renames and revokes a key, and a second press of either is done already', async () => {
  const shop = await newShop()
  const { browser, base } = shop
  const { key, id } = await created(shop)
  await created(shop, { name: 'Storefront' })
  await browser.open(`${base}/${id}/name`)
  await browser.submit(`${base}/${id}/name`, { name: 'Storefront' })
  expect([browser.page.status, main(browser).includes('href="#field-name"')]).toEqual([422, true])
  await browser.submit(`${base}/${id}/name`, { name: 'Hourly export' })
  expect(main(browser)).toContain('The key is called Hourly export now.')
  await browser.open(`${base}/${id}/revoke`)
  expect((await currentKey(key)).status).toBe(200)
  const fields = browser.hidden(`${base}/${id}/revoke`)
  await browser.submit(`${base}/${id}/revoke`)
  expect(main(browser)).toContain('The key Hourly export was revoked.')
  expect((await currentKey(key)).status).toBe(401)
  expect((await browser.post(`${base}/${id}/revoke`, fields)).status).toBe(303)
  expect((await browser.request(`${base}/${id}/rotate`)).status).toBe(404)
  await browser.open(`${base}?status=revoked`)
  expect(main(browser)).toContain('Hourly export')
})

it('names the live keys of a person before they are removed, which go on working after it', async () => {
  const shop = await newShop('admin')
  const { key } = await created(shop)
  const [member] = await web.service.sql`
    select m.id from app.memberships m join app.users u on u.id = m.user_id where m.tenant_id = ${shop.id} and u.email = ${`admin@${shop.slug}.test`}`
  const { browser } = shop
  const to = `/s/${shop.slug}/members/${member?.['id']}/remove`
  await browser.open(to)
  expect(main(browser)).toContain('These API keys that the person created stay.')
  expect(main(browser)).toContain('<li>Nightly export</li>')
  await browser.submit(to)
  expect((await currentKey(key)).status).toBe(200)
})

it('belongs to people who manage members', async () => {
  const { browser, base, slug } = await newShop('sales')
  await browser.open(`/s/${slug}`)
  expect(browser.page.body).not.toContain(`${base}"`)
  expect((await browser.open(base)).status).toBe(403)
  expect((await browser.open(`${base}/new`)).status).toBe(403)
})
