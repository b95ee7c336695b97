import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COOKIES } from '#web/http/cookies.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { type Browser, startWeb, type TestWeb } from '#tests/support/web.ts'

const NEW_PASSWORD = 'a passphrase of the invited'
const INVALID = '<h1>This link is invalid or has expired</h1>'
/** Per address of a browser. Each browser of a test has an address of its own. */
const LIMIT = 12

let web: TestWeb
beforeAll(async () => {
  web = await startWeb({ env: { LOGIN_IP_LIMIT: String(LIMIT) } })
})
afterAll(() => web.close())

/** Opens the link of a mail, by its token. */
async function follow(browser: Browser, page: string, token: string): Promise<void> {
  const moved = await browser.request(`${page}?token=${token}`)
  expect([moved.status, moved.location, moved.body]).toEqual([303, page, ''])
  expect(browser.cookies.get(COOKIES.link.name)).toContain(token)
  await browser.open(page)
  expect(browser.page.body).not.toContain(token)
}

async function invited(email: string, { role = 'sales' } = {}) {
  const { service } = web
  const { owner, slug } = await service.newTenant('owner')
  const { body } = await service.request('POST /v1/members/invite', { token: owner.token, body: { email, role } })
  return { id: body.id as string, slug, owner, token: await service.mail.tokenFor(email) }
}

async function resetToken(email: string): Promise<string> {
  await web.service.mail.deliver()
  const browser = web.browser()
  await browser.open('/forgot-password')
  await browser.submit('/forgot-password', { email })
  return web.service.mail.tokenFor(email)
}

const stateOfUsers = () => web.service.sql`select id, password_hash, email_verified_at from app.users order by id`

describe('the sign-in', () => {
  it('leads to the only shop, to the choice of one of several, and to a page that says whom to ask', async () => {
    const one = await web.signedIn('sales@acme.test')
    expect(one.page.body).toContain('<h1>Acme Print</h1>')
    const several = await web.signedIn('both@shops.test')
    expect(several.page.body).toContain('<h1>Choose a shop</h1>')
    expect(several.page.body).toMatch(/Acme Print[^]*Sales[^]*Bolt Apparel[^]*Viewer[^]*Trial/)
    const none = await web.signedIn('nobody@shops.test')
    expect(none.page.body).toContain('Ask an owner or an admin of your shop')
    expect(none.page.body).toContain('nobody@shops.test')
  })

  it('has one text for every refusal, keeps the address and never the password', async () => {
    const bodies: string[] = []
    for (const [email, password] of [
      ['sales@acme.test', 'not the password'],
      ['unknown@acme.test', PASSWORD],
      ['no address', PASSWORD],
      ['sales@acme.test', ''],
      ['', ''],
    ] as const) {
      const browser = web.browser()
      await browser.signIn(email, password)
      expect(browser.page.status).toBe(422)
      expect(browser.page.body).toContain('<title>Error: Sign in · Tenantry</title>')
      expect(browser.page.body).toContain(email === '' ? 'autocomplete="username webauthn"' : `value="${email}"`)
      expect(browser.page.body).not.toContain(password === '' ? 'value="">' : password)
      bodies.push(/<div class="summary".*?<\/div>/s.exec(browser.page.body)?.[0] ?? '')
    }
    expect(new Set(bodies).size).toBe(1)
    expect(bodies[0]).toContain('The email address or the password is not right.')
  })

  it('says when to try again over the limit of an address, and does not stop another address', async () => {
    const [first, second] = [web.browser(), web.browser()]
    for (let attempt = 0; attempt < LIMIT; attempt += 1) await first.signIn(`a${attempt}@limits.test`, 'wrong')
    await first.signIn('production@acme.test')
    expect(first.page.status).toBe(429)
    expect(Number(first.page.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(first.page.body).toMatch(/Too many attempts\. Try again in \d+ (hour|minute|second)s?\./)
    await second.signIn('production@acme.test')
    expect(second.page.body).toContain('<h1>Acme Print</h1>')
  })

  it('ends the session that the browser had, and drops its cookies', async () => {
    const browser = await web.signedIn('sales@acme.test')
    const before = browser.cookies.get(COOKIES.session.name)
    const form = browser.cookies.get(COOKIES.form.name) ?? ''
    await browser.post('/sign-in', {
      csrf: web.formField(form, 'POST /sign-in'),
      email: 'viewer@acme.test',
      password: PASSWORD,
    })
    expect(browser.cookies.get(COOKIES.form.name)).toBe(form)
    expect((await browser.open('/')).body).toContain('Viewer Acme')
    expect((await web.service.request('GET /v1/auth/session', { token: before })).status).toBe(401)
    expect((await browser.request('/sign-in')).location).toBe('/')
  })

  it('leads to a page of ours, and to no other address', async () => {
    const next = '/s/acme-print?notice=shop-switched'
    const browser = web.browser()
    await browser.open(`/s/acme-print?notice=shop-switched`)
    expect(browser.hidden('/sign-in')['next']).toBe(next)
    await browser.submit('/sign-in', { email: 'sales@acme.test', password: PASSWORD })
    expect(browser.page.body).toContain('<h1>Acme Print</h1>')
    const hostile = [
      'https://evil.test/',
      '//evil.test/',
      '/\\evil.test',
      '///evil.test',
      '/\t/evil.test',
      'javascript:alert(1)',
      '/s/acme-print/../../evil',
      '/%2f%2fevil.test',
      '/shops\r\nset-cookie: a=b',
      '/shops%0d%0aset-cookie:a=b#',
      '/shops@evil.test',
      '/sign-out',
      '/no-such-page',
      '/reset-password',
      `/shops?${'x'.repeat(600)}`,
      'shops',
    ]
    for (const text of hostile) {
      const victim = web.browser()
      await victim.open(`/sign-in?next=${encodeURIComponent(text)}`)
      expect(victim.hidden('/sign-in'), text).not.toHaveProperty('next')
      const { csrf = '' } = victim.hidden('/language')
      expect((await victim.post('/language', { csrf, lang: 'en', next: text })).location, text).toBe('/')
    }
    const victim = web.browser()
    await victim.open('/sign-in')
    const { csrf = '' } = victim.hidden('/sign-in')
    const fields = { csrf, email: 'sales@acme.test', password: PASSWORD, next: '//evil.test' }
    expect((await victim.post('/sign-in', fields)).location).toBe('/')
  })

  it('ends with the sign-out, which deletes what the browser keeps', async () => {
    const browser = await web.signedIn('sales@acme.test')
    const token = browser.cookies.get(COOKIES.session.name)
    const answer = await browser.post('/sign-out', browser.hidden('/sign-out'))
    expect(answer.headers.get('clear-site-data')).toBe('"cache"')
    expect([browser.cookies.has(COOKIES.session.name), browser.cookies.has(COOKIES.csrf.name)]).toEqual([false, false])
    expect((await web.service.request('GET /v1/auth/session', { token })).status).toBe(401)
    expect((await browser.open(answer.location ?? '')).body).toContain('You are signed out.')
  })
})

describe('the shop of the address', () => {
  it('is chosen by a person who has just signed in to open it, and opened after that', async () => {
    const browser = web.browser()
    await browser.open('/s/bolt-apparel')
    await browser.submit('/sign-in', { email: 'both@shops.test', password: PASSWORD })
    expect(browser.page.body).toContain('<h1>Choose a shop</h1>')
    expect(browser.page.body).toContain('The page that you opened belongs to Bolt Apparel (bolt-apparel).')
    expect(browser.hidden('/shops')['next']).toBe('/s/bolt-apparel')
    // The shop of the page stands first. The form of the other shop leads to its own start page.
    const { page } = browser
    expect((await browser.submit('/shops')).body).toContain('<h1>Bolt Apparel</h1>')
    browser.page = page
    const { id } = (await web.service.sql`select id from app.tenants where slug = 'acme-print'`)[0] ?? {}
    expect((await browser.submit('/shops', { tenant: id })).body).toContain('<h1>Acme Print</h1>')
  })

  it('is never another one than that of the session: two tabs cannot mix shops', async () => {
    const browser = await web.signedIn('both@shops.test', 'acme-print')
    expect(browser.page.body).toContain('<h1>Acme Print</h1>')
    await browser.open('/s/bolt-apparel')
    expect(browser.page.status).toBe(409)
    expect(browser.page.body).toContain('You are now acting in Acme Print (acme-print).')
    expect(browser.page.body.match(/<main.*<\/main>/s)?.[0].match(/<button/g)).toHaveLength(1)
    await browser.submit('/shops')
    expect(browser.page.body).toContain('<h1>Bolt Apparel</h1>')
    expect((await browser.request('/s/ACME-PRINT')).status).toBe(409)
  })

  it('is unknown to a person who is not in it, as if it did not exist', async () => {
    const browser = await web.signedIn('sales@acme.test')
    const [theirs, none] = [await browser.request('/s/bolt-apparel'), await browser.request('/s/no-such-shop')]
    expect([theirs.status, none.status]).toEqual([404, 404])
    expect(theirs.body.replaceAll('bolt-apparel', 'SHOP')).toBe(none.body.replaceAll('no-such-shop', 'SHOP'))
    const { id } = (await web.service.sql`select id from app.tenants where slug = 'bolt-apparel'`)[0] ?? {}
    expect((await browser.post('/shops', { ...browser.hidden('/sign-out'), tenant: id })).status).toBe(404)
  })
})

describe('the link to reset a password', () => {
  it('names the account, is consumed by the form alone, signs in, and changes nothing a second time', async () => {
    const { owner, slug } = await web.service.newTenant('owner')
    const email = `owner@${slug}.test`
    const token = await resetToken(email)
    const browser = web.browser()
    for (let round = 0; round < 3; round += 1) await follow(browser, '/reset-password', token)
    expect(browser.page.body).toContain(`<h1>New password for ${email}</h1>`)
    await browser.submit('/reset-password', { password: 'short' })
    expect(browser.page.status).toBe(422)
    expect(browser.page.body).toContain('<a href="#field-password">New password: Enter at least 15 characters.</a>')
    expect(browser.page.body).toContain('aria-invalid="true"')
    expect(browser.page.body).toContain('aria-describedby="field-password-hint field-password-error"')
    await browser.submit('/reset-password', { password: NEW_PASSWORD })
    expect(browser.page.body).toContain('Your new password is set.')
    expect(browser.page.body).toContain(`<h1>Shop ${slug}</h1>`)
    expect(browser.cookies.has(COOKIES.link.name)).toBe(false)
    expect((await web.service.request('GET /v1/auth/session', { token: owner.token })).status).toBe(401)
    const before = await stateOfUsers()
    await follow(browser, '/reset-password', token)
    expect(browser.page.body).toContain(INVALID)
    expect(browser.page.body).toContain('If you have set a new password with it, sign in with that password.')
    expect(await stateOfUsers()).toEqual(before)
    const elsewhere = web.browser()
    await elsewhere.signIn(email, NEW_PASSWORD)
    expect(elsewhere.page.body).toContain(`<h1>Shop ${slug}</h1>`)
  })

  it('is asked for with the same response for every address', async () => {
    const pages = []
    for (const email of ['viewer@acme.test', 'unknown@acme.test', 'no address']) {
      const browser = web.browser()
      await browser.open('/forgot-password')
      const answer = await browser.post('/forgot-password', { ...browser.hidden('/forgot-password'), email })
      pages.push([answer.status, answer.location])
    }
    expect(pages).toEqual(Array.from(pages, () => [303, '/forgot-password?notice=reset-requested']))
  })
})

describe('a link that is no longer valid', () => {
  it.each([
    ['/reset-password', '/forgot-password'],
    ['/verify-email', '/sign-in'],
    ['/invitation', 'Ask the person who invited you'],
  ])('%s says so with 422 and offers a new one', async (page, way) => {
    const invitation = await invited(`other@${page.slice(1)}.test`)
    const other = page === '/invitation' ? await resetToken('viewer@acme.test') : invitation.token
    const before = await stateOfUsers()
    for (const token of ['malformed', `${other}x`, 'A'.repeat(43), other, null]) {
      const browser = web.browser()
      await browser.open(token === null ? page : `${page}?token=${token}`)
      if (browser.page.status === 200) await browser.submit(page, { password: NEW_PASSWORD })
      expect(browser.page.status, String(token)).toBe(422)
      expect(browser.page.body).toContain(token === null ? '<h1>Open the link in the mail again</h1>' : INVALID)
      expect(browser.page.body).toContain(way)
    }
    expect(await stateOfUsers()).toEqual(before)
  })
})

describe('an invitation', () => {
  it('lets a newcomer set name and password, after showing shop, role and inviter', async () => {
    const email = 'newcomer@invited.test'
    const { slug, token, owner } = await invited(email)
    await web.service
      .sql`update app.users set email_verified_at = now(), full_name = 'Ann "A" <Owner>' where id = ${owner.userId}`
    const browser = web.browser()
    await follow(browser, '/invitation', token)
    for (const text of [`Shop ${slug}`, '<dd>Sales</dd>', email, 'Ann &quot;A&quot; &lt;Owner&gt;'])
      expect(browser.page.body).toContain(text)
    await browser.submit('/invitation', { full_name: 'New <b>Comer', password: 'short' })
    expect(browser.page.status).toBe(422)
    expect(browser.page.body).toContain('value="New &lt;b&gt;Comer"')
    await browser.submit('/invitation', { full_name: 'New Comer', password: NEW_PASSWORD })
    expect(browser.page.body).toContain(`<h1>Shop ${slug}</h1>`)
    expect(browser.page.body).toContain(`You joined Shop ${slug}. Your role there is Sales.`)
    expect(browser.page.body).toContain('New Comer')
    const again = web.browser()
    await follow(again, '/invitation', token)
    expect(again.page.body).toContain(`This invitation was used before: ${email} has joined Shop ${slug} (${slug}).`)
    expect(again.page.body).not.toContain('action="/invitation"')
  })

  it('lets an existing user join without a password', async () => {
    const { slug, token } = await invited('viewer@bolt.test')
    const browser = web.browser()
    await follow(browser, '/invitation', token)
    expect(browser.page.body).not.toContain('type="password"')
    await browser.submit('/invitation')
    expect(browser.page.body).toContain('You joined the shop. Sign in to work in it.')
    await browser.submit('/sign-in', { email: 'viewer@bolt.test', password: PASSWORD })
    expect(browser.page.body).toContain(
      `<p class="prose">The page that you opened belongs to Shop ${slug} (${slug}).</p>`,
    )
    await browser.submit('/shops')
    expect(browser.page.body).toContain(`<h1>Shop ${slug}</h1>`)
  })

  it('is joined by the person who is signed in, who is led to the shop without a sign-in', async () => {
    const { slug, token } = await invited('designer@acme.test')
    const browser = await web.signedIn('designer@acme.test')
    await follow(browser, '/invitation', token)
    await browser.submit('/invitation')
    expect(browser.page.body).toContain(`You joined Shop ${slug} (${slug}). Your role there is Sales.`)
    await browser.submit('/shops')
    expect(browser.page.body).toContain(`<h1>Shop ${slug}</h1>`)
  })

  it('is invalid after it was cancelled, also when its page was open already', async () => {
    const { id, token, owner } = await invited('cancelled@invited.test')
    const browser = web.browser()
    await follow(browser, '/invitation', token)
    await web.service.request(`DELETE /v1/members/invitations/${id}`, { token: owner.token })
    await browser.submit('/invitation', { full_name: 'New Comer', password: NEW_PASSWORD })
    expect([browser.page.status, browser.page.body.includes(INVALID)]).toEqual([422, true])
  })
})

it('verifies an address by its link, and mails a new link to the person who is signed in', async () => {
  const { sql, mail } = web.service
  const { slug, owner } = await web.service.newTenant('owner')
  await sql`update app.users set email_verified_at = null where id = ${owner.userId}`
  const browser = web.browser()
  browser.cookies.set(COOKIES.session.name, owner.token)
  await browser.open('/shops')
  await browser.open('/account')
  expect(browser.page.body).toContain(`owner@${slug}.test`)
  await browser.submit('/verify-email/resend')
  expect(browser.page.body).toContain('An email with a new link is on its way.')
  await follow(browser, '/verify-email', await mail.tokenFor(`owner@${slug}.test`))
  await browser.submit('/verify-email')
  expect(browser.page.body).toContain('Your email address is verified.')
  expect(await sql`select id from app.users where id = ${owner.userId} and email_verified_at is not null`).toHaveLength(
    1,
  )
})

describe('the language', () => {
  it('is what the person chose, else what the browser prefers, else English', async () => {
    const languageOf = async (accepted?: string) =>
      /<html lang="(\w+)">/.exec(
        (await web.browser().request('/sign-in', { headers: { 'accept-language': accepted } })).body,
      )?.[1]
    expect(
      await Promise.all(
        [undefined, 'es-MX,es;q=0.9', 'de,en;q=0.1,es;q=0.9', 'fr', 'es;q=0', ',;q=x,'].map(languageOf),
      ),
    ).toEqual(['en', 'es', 'es', 'en', 'en', 'en'])
    const browser = web.browser()
    await browser.open('/forgot-password')
    await browser.submit('/language', { lang: 'es' })
    expect(browser.page.body).toContain('<html lang="es">')
    expect(browser.page.body).toContain('<h1>¿Olvidó su contraseña?</h1>')
  })

  it('is one of ours', async () => {
    const browser = web.browser()
    await browser.open('/sign-in')
    const { csrf = '' } = browser.hidden('/language')
    for (const lang of ['fr', '__proto__', 'es; Domain=evil.test', 'es\r\nset-cookie: a=b', '']) {
      const answer = await browser.post('/language', { csrf, lang, next: '/sign-in' })
      expect([answer.status, browser.cookies.has(COOKIES.lang.name)], lang).toEqual([422, false])
    }
  })
})

it('shows a notice after its redirect alone, once, first in the title and with the focus', async () => {
  const browser = await web.signedIn('sales@acme.test')
  await browser.submit('/sign-out')
  expect(browser.page.body).toMatch(/<p class="notice" role="status" tabindex="-1" autofocus>[^<]/)
  expect(browser.page.body).toMatch(/<title>You are signed out\. · Sign in · /)
  expect((await browser.open('/sign-in?notice=signed-out')).body).not.toContain('class="notice"')
  const forged = web.browser()
  for (const notice of ['signed-out', 'You+won', 'constructor', '<b>x</b>', 'signed-out&notice=<b>'])
    for (const cookie of ['', 'signed-out', 'A'.repeat(80)]) {
      if (cookie !== '') forged.cookies.set(COOKIES.notice.name, cookie)
      const { body } = await forged.open(`/sign-in?notice=${notice}`)
      expect(body, notice).not.toMatch(/class="notice"|You won|<b>/)
    }
})

it('counts a cookie that is sent twice as none', async () => {
  const browser = await web.signedIn('sales@acme.test')
  const token = browser.cookies.get(COOKIES.session.name)
  const twice = [`${COOKIES.session.name}=${'A'.repeat(43)}; ${COOKIES.session.name}=${token}`]
  for (const cookie of [twice, twice.toReversed(), [`${COOKIES.session.name}=${token}`, `${COOKIES.session.name}=x`]])
    expect((await browser.request('/s/acme-print', { headers: { cookie } })).status).toBe(303)
})

it('has on a phone one line above the page, which opens the pages, the account and the sign-out', async () => {
  const { body } = (await web.signedIn('owner@acme.test', 'acme-print')).page
  const [, summary, rest = ''] =
    /<details class="menu"><summary>([^<]*)<\/summary>(.*?)<\/details>/s.exec(body.split('<main')[0] ?? '') ?? []
  expect(summary).toBe('Acme Print')
  for (const to of ['/s/acme-print/members', '/s/acme-print/roles', '/shops', '/account'])
    expect(rest).toContain(`href="${to}"`)
  expect(rest).toContain('action="/sign-out"')
})
