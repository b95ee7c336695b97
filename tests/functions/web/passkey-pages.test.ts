import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COOKIES } from '#web/http/cookies.ts'
import { Authenticator } from '#tests/support/authenticator.ts'
import { codeNow, newFactorUser, newUser } from '#tests/support/factor.ts'
import { mintSession } from '#tests/support/minted-session.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { type Browser, startWeb, type TestWeb, WEB_ORIGIN } from '#tests/support/web.ts'

let web: TestWeb
beforeAll(async () => {
  web = await startWeb()
})
afterAll(() => web.close())

const BASE = '/account/second-factor'
const WRONG = 'The passkey did not work. Try again, or use a code.'

/** What the page gives its script to ask a passkey with. */
function optionsOn({ page }: Browser) {
  const [, options] = /<script [^>]* data-passkey="([^"]*)" defer>/.exec(page.body) ?? []
  return options === undefined ? null : JSON.parse(options.replaceAll('&quot;', '"'))
}

/** What the script puts into the field. */
const answerOn = (browser: Browser, by: Authenticator, lie = {}): string =>
  JSON.stringify(by.get(optionsOn(browser), lie))

/** A browser with a session that signed in a minute ago, or an hour ago. */
async function signedIn(email: string, minutes: 1 | 60): Promise<Browser> {
  const { token, id } = await mintSession(web.service.sql, { email })
  await web.service.sql`
    update app.sessions set stepped_up_at = created_at - make_interval(mins => ${minutes}),
           created_at = created_at - make_interval(mins => ${minutes}),
           absolute_expires_at = absolute_expires_at - make_interval(mins => ${minutes}),
           second_factor_at = (select min(created_at) from app.factors where user_id = sessions.user_id) where id = ${id}`
  const browser = web.browser()
  browser.cookies.set(COOKIES.session.name, token)
  return browser
}

const codesOn = ({ page }: Browser) => [...page.body.matchAll(/<li><code>([^<]+)</g)].map(([, code = '']) => code)

const isSignedIn = ({ cookies }: Browser) => cookies.has(COOKIES.session.name)

const isLive = async (token = '') => (await web.service.request('GET /v1/auth/session', { token })).status === 200

async function mailedCode(email: string): Promise<string> {
  await web.service.mail.deliver()
  return /\b[0-9A-Z]{4}-[0-9A-Z]{4}\b/.exec(web.service.mail.to(email)[0]?.text ?? '')?.[0] ?? ''
}

/** A person whose only factor is a passkey, which they added on the pages, as a script answers there. */
async function newPasskeyPerson() {
  const user = await newUser(web.service)
  const browser = await signedIn(user.email, 1)
  await browser.open(BASE)
  await browser.submit(`${BASE}/passkey/start`)
  const codes = codesOn(browser)
  const passkey = new Authenticator({ origin: WEB_ORIGIN })
  const setup_code = await mailedCode(user.email)
  const credential = JSON.stringify(passkey.create(optionsOn(browser)))
  await browser.submit(`${BASE}/passkey`, { name: 'Laptop', credential, setup_code })
  return { ...user, browser, passkey, codes }
}

describe('a passkey as the first factor', () => {
  it('comes with recovery codes and a mailed setup code, which may be entered again', async () => {
    const user = await newUser(web.service)
    const other = await mintSession(web.service.sql, { email: user.email })
    const browser = await signedIn(user.email, 1)
    const wanted = '/account/sessions'
    await browser.open(`${BASE}?next=${encodeURIComponent(wanted)}`)
    await browser.submit(`${BASE}/passkey/start`)
    expect(browser.page.body.match(/<li><code>/g)).toHaveLength(10)
    expect(optionsOn(browser)).toMatchObject({ user: { name: user.email }, excludeCredentials: [] })
    const passkey = new Authenticator({ origin: WEB_ORIGIN })
    const fields = { name: 'Laptop', credential: JSON.stringify(passkey.create(optionsOn(browser))) }
    await browser.submit(`${BASE}/passkey`, { ...fields, setup_code: '0000-0000' })
    expect(browser.page.status).toBe(422)
    expect(browser.page.body).toContain('That is not the code from our mail, or it is too old.')
    expect(browser.page.body).not.toContain(passkey.id)
    await browser.submit(`${BASE}/passkey/setup-code`)
    expect(browser.page.body).toContain('We sent you a new setup code.')
    const again = { ...fields, credential: JSON.stringify(passkey.create(optionsOn(browser))) }
    await browser.submit(`${BASE}/passkey`, { ...again, setup_code: await mailedCode(user.email) })
    expect(browser.page.body).toContain('The passkey was added.')
    expect(browser.page.body).toContain('Laptop')
    expect(browser.page.body).toContain('10 recovery codes are left.')
    expect(browser.page.body).toContain(`href="${wanted}"`)
    expect(await isLive(other.token)).toBe(false)
    expect(await isLive(browser.cookies.get(COOKIES.session.name))).toBe(true)
  })

  it('comes with the recovery codes that its page showed: those of another tab are shown first', async () => {
    const user = await newUser(web.service)
    const browser = await signedIn(user.email, 1)
    await browser.open(BASE)
    await browser.submit(`${BASE}/passkey/start`)
    const shown = codesOn(browser)
    const tab = web.browser()
    for (const [name, value] of browser.cookies) tab.cookies.set(name, value)
    await tab.open(BASE)
    await tab.submit(`${BASE}/passkey/start`)
    const passkey = new Authenticator({ origin: WEB_ORIGIN })
    const setup_code = await mailedCode(user.email)
    const send = () =>
      browser.submit(`${BASE}/passkey`, {
        name: 'Laptop',
        credential: JSON.stringify(passkey.create(optionsOn(browser))),
        setup_code,
      })
    await send()
    expect(browser.page.status).toBe(422)
    expect(codesOn(browser)).toEqual(codesOn(tab))
    expect(codesOn(browser)).not.toEqual(shown)
    await send()
    expect(browser.page.body).toContain('The passkey was added.')
  })

  it('is not made on a page that was open too long, or of another session', async () => {
    const user = await newUser(web.service)
    const browser = await signedIn(user.email, 1)
    await browser.open(`${BASE}/passkey`)
    expect(browser.page.body).toContain('This page was open too long. Start again.')
    await browser.submit(`${BASE}/passkey/start`)
    const credential = JSON.stringify(new Authenticator({ origin: WEB_ORIGIN }).create(optionsOn(browser)))
    const setup_code = await mailedCode(user.email)
    await web.service.sql`update app.factor_drafts set expires_at = now() where user_id = ${user.id}`
    await browser.submit(`${BASE}/passkey`, { name: 'Laptop', credential, setup_code })
    expect(browser.page.status).toBe(422)
    expect(browser.page.body).toContain('This page was open too long. Start again.')
    expect(await web.service.sql`select from app.factors where user_id = ${user.id}`).toHaveLength(0)
  })
})

describe('a person with a passkey', () => {
  it('proves their presence by it beside half a code', async () => {
    const { email, passkey } = await newPasskeyPerson()
    const browser = await signedIn(email, 60)
    await browser.open(`${BASE}/recovery-codes`)
    await browser.submit(`${BASE}/recovery-codes`, { proof_code: '12', proof_credential: answerOn(browser, passkey) })
    expect(browser.page.body.match(/<li><code>/g)).toHaveLength(10)
  })

  it('proves their presence before they add another, when little of the last proof is left', async () => {
    const { email, passkey } = await newPasskeyPerson()
    const browser = await signedIn(email, 60)
    await web.service.sql`
      update app.sessions set stepped_up_at = now() - interval '6 minutes'
       where user_id = (select id from app.users where email = ${email}) and created_at < now() - interval '30 minutes'`
    const wanted = '/account/sessions'
    await browser.open(`${BASE}/passkey?next=${encodeURIComponent(wanted)}`)
    expect(browser.page.body).toContain('<h1>Confirm that it is you</h1>')
    await browser.submit('/account/confirm', { credential: answerOn(browser, passkey) })
    expect(browser.page.body).toContain('<h1>Add a passkey</h1>')
    expect(browser.page.body).not.toContain('proof_code')
    expect(browser.hidden(`${BASE}/passkey`)).toHaveProperty('next', wanted)
  })

  it('stays on the page that asks for the proof after an answer that no passkey gives', async () => {
    const { email } = await newPasskeyPerson()
    await mintSession(web.service.sql, { email })
    const browser = await signedIn(email, 60)
    await browser.open('/account/sessions')
    const to = /action="([^"]*\/end)"/.exec(browser.page.body)?.[1] ?? ''
    await browser.submit(to)
    await browser.submit(to, { proof_credential: '{}' })
    expect(browser.page.status).toBe(422)
    expect(browser.page.body).toMatch(/<h1>Confirm that it is you<[^]*data-passkey="proof_credential"/)
  })

  it('signs in by it alone, to the page that they wanted, and by it after the password', async () => {
    const { email, passkey } = await newPasskeyPerson()
    const alone = web.browser()
    await alone.open('/sign-in?next=%2Faccount%2Fsessions')
    expect(optionsOn(alone).allowCredentials).toEqual([])
    await alone.submit('/sign-in/passkey?next=%2Faccount%2Fsessions', { credential: answerOn(alone, passkey) })
    expect(alone.page.body).toContain('<h1>Where you are signed in</h1>')
    const second = web.browser()
    await second.signIn(email)
    expect(second.page.body).toContain('<h1>Confirm that it is you</h1>')
    expect(second.page.body).not.toMatch(/name="code"|href="\/sign-in\/second-factor/)
    expect(optionsOn(second).allowCredentials).toMatchObject([{ id: passkey.id }])
    await second.submit('/sign-in/second-factor', { credential: answerOn(second, passkey, { flip: ['uv'] }) })
    expect([second.page.status, second.page.body.includes(WRONG)]).toEqual([422, true])
    await second.submit('/sign-in/second-factor', { credential: answerOn(second, passkey) })
    expect(second.page.body).toContain('<h1>Acme Print</h1>')
  })

  it('signs in by it, which forgets the unfinished sign-in of somebody else', async () => {
    const { passkey } = await newPasskeyPerson()
    const other = await newFactorUser(web.service)
    const browser = web.browser()
    await browser.signIn(other.email)
    expect(browser.cookies.has(COOKIES.signIn.name)).toBe(true)
    await browser.open('/sign-in')
    await browser.submit('/sign-in/passkey', { credential: answerOn(browser, passkey) })
    expect([isSignedIn(browser), browser.cookies.has(COOKIES.signIn.name)]).toEqual([true, false])
  })

  it('is refused at the form by a wrong answer or a second use, with one text and a new challenge', async () => {
    const { passkey } = await newPasskeyPerson()
    const stranger = new Authenticator({ origin: WEB_ORIGIN })
    const browser = web.browser()
    await browser.open('/sign-in')
    const used = answerOn(browser, passkey)
    for (const credential of [answerOn(browser, stranger), answerOn(browser, passkey, { rpId: 'evil.test' })]) {
      const { challenge } = optionsOn(browser)
      await browser.submit('/sign-in/passkey', { credential })
      expect([browser.page.status, browser.page.body.includes(WRONG)]).toEqual([422, true])
      expect(optionsOn(browser).challenge).not.toBe(challenge)
    }
    const other = web.browser()
    await other.open('/sign-in')
    await other.submit('/sign-in/passkey', { credential: used })
    expect(other.page.body).toContain('<h1>Acme Print</h1>')
    await browser.submit('/sign-in/passkey', { credential: used })
    expect([browser.page.status, browser.page.body.includes(WRONG)]).toEqual([422, true])
  })

  it('proves their presence by it in any form that asks, and on the page that confirms', async () => {
    const { email, passkey } = await newPasskeyPerson()
    const browser = await signedIn(email, 60)
    await browser.open('/account/password')
    await browser.open(`${BASE}/recovery-codes`)
    expect(browser.page.body).toContain('data-passkey="proof_credential"')
    const lie = answerOn(browser, passkey, { flip: ['uv'] })
    await browser.submit(`${BASE}/recovery-codes`, { proof_credential: lie })
    expect([browser.page.status, browser.page.body.includes(WRONG)]).toEqual([422, true])
    expect(browser.page.body).not.toContain(passkey.id.slice(0, 20) + '&quot;,&quot;rawId')
    const before = browser.cookies.get(COOKIES.session.name)
    await browser.submit(`${BASE}/recovery-codes`, { proof_credential: answerOn(browser, passkey) })
    expect(browser.page.body.match(/<li><code>/g)).toHaveLength(10)
    expect(await isLive(before)).toBe(false)
    const other = await signedIn(email, 60)
    await other.open('/account/confirm?next=%2Faccount%2Fsessions')
    await other.submit('/account/confirm', { credential: answerOn(other, passkey) })
    expect(other.page.body).toContain('<h1>Where you are signed in</h1>')
  })

  it('is asked for no code of an app that they do not have', async () => {
    const { email, codes } = await newPasskeyPerson()
    const browser = await signedIn(email, 60)
    await browser.open('/account/confirm')
    expect(browser.page.body).not.toContain('name="code"')
    await browser.submit('/account/confirm', { recovery_code: '' })
    expect(browser.page.body).toContain('<a href="#field-recovery_code">Recovery code: Fill this in.</a>')
    await browser.open(`${BASE}/recovery-codes`)
    expect(browser.page.body).not.toContain('name="proof_code"')
    await browser.submit(`${BASE}/recovery-codes`)
    expect([browser.page.status, browser.page.body.includes('name="proof_code"')]).toEqual([422, false])
    expect(browser.page.body).toContain('<a href="#field-proof_code">Use a passkey: Confirm that it is you</a>')
    expect(browser.page.body).toContain('<fieldset class="proof" id="field-proof_code"')
    await browser.submit(`${BASE}/recovery-codes`, { proof_recovery_code: codes[0] ?? '' })
    expect(browser.page.body.match(/<li><code>/g)).toHaveLength(10)
  })

  it('adds another after a proof, without a setup code, and removes the first by the second', async () => {
    const { email, passkey, id } = await newPasskeyPerson()
    const browser = await signedIn(email, 60)
    await browser.open(`${BASE}/passkey`)
    expect(browser.page.body).toContain('<h1>Confirm that it is you</h1>')
    await browser.submit('/account/confirm', { credential: answerOn(browser, passkey) })
    expect(optionsOn(browser).excludeCredentials).toMatchObject([{ id: passkey.id }])
    expect(browser.page.body).not.toContain('setup_code')
    const second = new Authenticator({ origin: WEB_ORIGIN })
    const credential = JSON.stringify(second.create(optionsOn(browser)))
    await browser.submit(`${BASE}/passkey`, { name: 'Phone', credential })
    expect(browser.page.body).toMatch(/Laptop[^]*Phone/)
    const [first] = await web.service.sql`select id from app.factors where user_id = ${id} and name = 'Laptop'`
    const later = await signedIn(email, 60)
    await later.open(`${BASE}/${first?.['id']}/remove`)
    expect(later.page.body).not.toContain('It is your only second step')
    await later.submit(`${BASE}/${first?.['id']}/remove`, { proof_credential: answerOn(later, second) })
    expect(later.page.body).toContain('The passkey was removed. It stays on your device until you delete it there.')
    expect(later.page.body).not.toContain('Laptop')
  })
})

it('reads nothing of an old phone when they add their first app to a passkey', async () => {
  const { browser } = await newPasskeyPerson()
  await browser.open(BASE)
  await browser.submit(`${BASE}/start`)
  expect(browser.page.body).toContain('An app that you set up before stops working')
  expect(browser.page.body).not.toMatch(/old phone|new phone/)
  const [, key = ''] = /<code class="key">([A-Z2-7 ]+)</.exec(browser.page.body) ?? []
  await browser.submit(`${BASE}/app`, { code: codeNow(key.replaceAll(' ', '')) })
  expect(browser.page.body).toContain('Your authenticator app is set up. After your password, we ask for its code.')
  expect(browser.page.body).not.toContain('no longer works')
})

it('says beside ten passkeys that one must go first, before the device makes another', async () => {
  const { browser, id } = await newPasskeyPerson()
  const limit = 'You have ten passkeys. Remove one first.'
  await browser.open(`${BASE}/passkey`)
  const credential = JSON.stringify(new Authenticator({ origin: WEB_ORIGIN }).create(optionsOn(browser)))
  await web.service.sql`
    insert into app.factors (id, user_id, kind, name, key_id, witness_hash, credential_id, public_key, algorithm, sign_count, rp_id, aaguid,
                             backup_eligible, backed_up)
    select gen_random_uuid(), user_id, kind, n::text, key_id, witness_hash, sha256(convert_to(n || id::text, 'UTF8')), public_key, algorithm,
           sign_count, rp_id, aaguid, backup_eligible, backed_up
      from app.factors, generate_series(2, 10) n where user_id = ${id}`
  const late = await browser.submit(`${BASE}/passkey`, { name: 'Phone', credential })
  expect([late.status, late.body.includes(limit), optionsOn(browser)]).toEqual([422, true, null])
  const reloaded = await browser.open(`${BASE}/passkey`)
  expect([reloaded.status, reloaded.body.includes(limit), optionsOn(browser)]).toEqual([422, true, null])
  await browser.open(BASE)
  await browser.submit(`${BASE}/passkey/start`)
  expect(browser.page.status).toBe(422)
  expect(browser.page.body).toMatch(new RegExp(`<li>${limit}</li>[^]*<h1>Second step at sign-in</h1>[^]*Laptop`))
})

describe('of several forms that need a proof, the one that was sent asks for it', () => {
  const PROOF = /<fieldset class="proof"/
  const asks = ({ page }: Browser, to: string) =>
    [...page.body.matchAll(/ action="([^"]*)"[^>]*>(.*?)<\/form>/gs)].some(
      ([, at, form = '']) => at === to && PROOF.test(form),
    )

  it.each([`${BASE}/start`, `${BASE}/passkey/start`])('of a person without a factor: %s', async (to) => {
    const { email } = await newUser(web.service)
    const browser = await signedIn(email, 60)
    await browser.open(BASE)
    await browser.submit(to)
    expect([browser.page.status, asks(browser, to)]).toEqual([422, true])
    await browser.submit(to, { proof_password: 'a wrong passphrase' })
    expect([browser.page.status, asks(browser, to)]).toEqual([422, true])
    await browser.submit(to, { proof_password: PASSWORD })
    expect(codesOn(browser)).toHaveLength(10)
  })

  it('of a person with a passkey, who sets up an app', async () => {
    const { email, passkey } = await newPasskeyPerson()
    const browser = await signedIn(email, 60)
    await browser.open(BASE)
    await browser.submit(`${BASE}/start`)
    expect([browser.page.status, asks(browser, `${BASE}/start`)]).toEqual([422, true])
    await browser.submit(`${BASE}/start`, { proof_credential: answerOn(browser, passkey) })
    expect(browser.page.body).toContain('<h1>Set up your authenticator app</h1>')
  })
})

it('keeps the wanted page when somebody opens the address of the refused form again', async () => {
  const browser = web.browser()
  const next = '?next=%2Faccount%2Fsessions'
  await browser.open(`/sign-in${next}`)
  const refused = await browser.submit(`/sign-in/passkey${next}`, { credential: '{}' })
  expect([refused.status, browser.hidden('/language')['next']]).toEqual([422, `/sign-in${next}`])
  expect((await browser.request(`/sign-in/passkey${next}`)).location).toBe(`/sign-in${next}`)
  await browser.submit(`/sign-in/passkey${next}`, { credential: '{}' })
  expect(browser.page.status).toBe(422)
  const evil = await browser.request('/sign-in/passkey?next=https://evil.test')
  await browser.open(evil.location ?? '')
  expect(browser.page.body).toContain('action="/sign-in/passkey"')
  expect(browser.page.body).not.toContain('action="/sign-in/passkey?')
})

it('offers to add a passkey only where browsers make one: not at an IP address', async () => {
  const { token } = await newFactorUser(web.service)
  const start = `action="${BASE}/passkey/start"`
  for (const [address, offers] of [
    [WEB_ORIGIN, true],
    ['http://127.0.0.1:3001', false],
    ['http://[::1]:3001', false],
  ] as const) {
    const { browser } = await startWeb({ service: web.service, env: { WEB_BASE_URL: address } })
    const opened = browser()
    opened.cookies.set(COOKIES.session.name, token)
    const { status, body } = await opened.open(BASE)
    expect([status, body.includes(start), body.includes('<h2>Passkeys</h2>')], address).toEqual([200, offers, offers])
  }
})

it('offers no passkey to a person without one', async () => {
  const user = await newFactorUser(web.service)
  const browser = await signedIn(user.email, 60)
  for (const path of [`${BASE}/${user.factorId}/remove`, '/account/confirm']) {
    await browser.open(path)
    expect(browser.page.body).toContain('recovery code')
    expect(optionsOn(browser)).toBeNull()
  }
})

it.each([
  ['gives no options', async () => Response.json({ type: 'about:blank', title: 'x', status: 503 }, { status: 503 })],
  ['does not respond', () => Promise.reject(new Error('down'))],
])('asks for email and password when the API %s', async (_case, send) => {
  web.breakApi(send)
  const browser = web.browser()
  const { status, body } = await browser.open('/sign-in').finally(() => web.breakApi(null))
  expect([status, optionsOn(browser), body.includes('name="password"')]).toEqual([200, null, true])
})

it.each(['', '{}', 'null', '[]', '{"id":1}', 'no JSON', '"'.repeat(9)])(
  'refuses what no passkey says (%s) at each form, and writes nothing',
  async (credential) => {
    const user = await newFactorUser(web.service)
    const before = await web.service.sql`select count(*) from app.used_challenges`
    const stranger = web.browser()
    await stranger.open('/sign-in')
    const session = await signedIn(user.email, 60)
    await session.open('/account/confirm')
    const open = web.browser()
    await open.signIn(user.email)
    const answers = [
      await stranger.submit('/sign-in/passkey', { credential }),
      await open.submit('/sign-in/second-factor', { credential }),
      await session.submit('/account/confirm', { credential }),
    ]
    await session.open(`${BASE}/${user.factorId}/remove`)
    answers.push(await session.submit(`${BASE}/${user.factorId}/remove`, { proof_credential: credential }))
    for (const { status, body } of answers) {
      expect(status).toBe(422)
      if (credential !== '') expect(body).toContain(WRONG)
    }
    expect(await web.service.sql`select count(*) from app.used_challenges`).toEqual(before)
    expect(await web.service.sql`select from app.factors where user_id = ${user.id}`).toHaveLength(1)
  },
)
