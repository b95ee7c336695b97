import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COOKIES } from '#web/http/cookies.ts'
import { codeNow, forgetStep, login, newFactorUser, newUser, wrongCode } from '#tests/support/factor.ts'
import { mintSession } from '#tests/support/minted-session.ts'
import { PASSWORD } from '#tests/support/service.ts'
import { type Browser, startWeb, type TestWeb } from '#tests/support/web.ts'

let web: TestWeb
beforeAll(async () => {
  web = await startWeb()
})
afterAll(() => web.close())

const BASE = '/account/second-factor'
const session = (browser: Browser) => browser.cookies.get(COOKIES.session.name)
const isLive = async (token = '') => (await web.service.request('GET /v1/auth/session', { token })).status === 200

/** A browser with a session of the user that signed in, and proved nothing since, so long ago. */
async function signedIn(email: string, ago: string): Promise<Browser> {
  const { token, id } = await mintSession(web.service.sql, { email })
  await web.service.sql`
    update app.sessions set stepped_up_at = created_at - ${ago}::interval, created_at = created_at - ${ago}::interval,
           absolute_expires_at = absolute_expires_at - ${ago}::interval,
           second_factor_at = (select created_at from app.factors where user_id = sessions.user_id) where id = ${id}`
  const browser = web.browser()
  browser.cookies.set(COOKIES.session.name, token)
  return browser
}

const keyOn = ({ page }: Browser) => /<code class="key">([A-Z2-7 ]+)</.exec(page.body)?.[1]?.replaceAll(' ', '') ?? ''
const codesOn = ({ page }: Browser) => [...page.body.matchAll(/<li><code>([^<]+)</g)].map(([, code = '']) => code)
async function mailedCode(email: string): Promise<string> {
  await web.service.mail.deliver()
  return /\b[0-9A-Z]{4}-[0-9A-Z]{4}\b/.exec(web.service.mail.to(email)[0]?.text ?? '')?.[0] ?? ''
}

describe('setting up an authenticator app', () => {
  it('shows codes, QR code and key, and switches the second step on by a code and the mailed setup code', async () => {
    const user = await newUser(web.service)
    const other = await mintSession(web.service.sql, { email: user.email })
    const browser = await signedIn(user.email, '1 minute')
    await browser.open('/account')
    expect(browser.page.body).toContain(`<a href="${BASE}">`)
    await browser.open(BASE)
    expect(browser.page.body).not.toContain('proof_')
    await browser.submit(`${BASE}/start`)
    expect(browser.page.body).toContain('your password alone does not sign you in any more')
    const [secret, codes] = [keyOn(browser), codesOn(browser)]
    expect([secret.length, codes.length]).toEqual([32, 10])
    expect(browser.page.body).toMatch(/<path d="M4 4h7v1h-7zM/)
    expect(browser.page.body).toContain(`secret=${secret}&amp;`)
    await browser.submit(`${BASE}/app`, { code: codeNow(secret), setup_code: '0000-0000' })
    expect(browser.page.status).toBe(422)
    expect(browser.page.body).toContain('That is not the code from our mail, or it is too old.')
    await browser.submit(`${BASE}/app`, { code: codeNow(secret), setup_code: '' })
    expect([browser.page.status, keyOn(browser)]).toEqual([422, secret])
    await browser.submit(`${BASE}/setup-code`)
    expect([keyOn(browser), codesOn(browser)]).toEqual([secret, codes])
    const before = session(browser)
    await browser.submit(`${BASE}/app`, { code: codeNow(secret), setup_code: await mailedCode(user.email) })
    expect(browser.page.body).toContain('Your authenticator app is set up.')
    expect(browser.page.body).toContain('10 recovery codes are left.')
    expect([await isLive(before), await isLive(session(browser)), await isLive(other.token)]).toEqual([
      false,
      true,
      false,
    ])
    expect((await login(web.service, user.email)).body.second_factor.methods).toContain('totp')
    await browser.open('/account')
    expect(browser.page.body).toContain('<span class="badge good">On</span>')
  })

  it('keeps the page that the person wanted through each step and each refusal, and offers it once the app is set up', async () => {
    const user = await newUser(web.service)
    const browser = await signedIn(user.email, '6 minutes')
    const wanted = '/shops?next=%2Faccount%2Fsessions'
    const carries = (to: string) => expect(browser.hidden(to)).toHaveProperty('next', wanted)
    await browser.open(`${BASE}?next=${encodeURIComponent(wanted)}`)
    expect(browser.page.body).not.toContain(`href="${wanted}"`)
    await browser.submit(`${BASE}/start`, { proof_password: 'a wrong passphrase' })
    carries(`${BASE}/start`)
    await browser.submit(`${BASE}/start`, { proof_password: PASSWORD })
    const secret = keyOn(browser)
    expect(browser.page.body).toContain(`href="${BASE}?next=${encodeURIComponent(wanted)}"`)
    await browser.submit(`${BASE}/setup-code`)
    carries(`${BASE}/app`)
    await browser.submit(`${BASE}/app`, { code: codeNow(secret), setup_code: '0000-0000' })
    expect(browser.page.status).toBe(422)
    carries(`${BASE}/app`)
    carries(`${BASE}/setup-code`)
    await browser.submit(`${BASE}/app`, { code: codeNow(secret), setup_code: await mailedCode(user.email) })
    expect(browser.page.body).toContain('Your authenticator app is set up.')
    expect(browser.page.body).toContain(`href="${wanted}"`)
  })

  it('keeps the page that the person wanted when it begins again or asks for the password on a page of its own', async () => {
    const user = await newUser(web.service)
    const browser = await signedIn(user.email, '1 minute')
    const next = encodeURIComponent('/account/sessions')
    expect((await browser.request(`${BASE}/app?next=${next}`)).location).toBe(
      `${BASE}?next=${next}&notice=draft-expired`,
    )
    await browser.open(`${BASE}?next=${next}`)
    await browser.submit(`${BASE}/start`)
    await web.service.sql`update app.sessions set stepped_up_at = now() - interval '1 hour' where user_id = ${user.id}`
    await browser.submit(`${BASE}/setup-code`)
    expect(browser.page.body).toContain('<h1>Confirm that it is you</h1>')
    await browser.submit(`${BASE}/setup-code`, { proof_password: PASSWORD })
    expect(browser.hidden(`${BASE}/app`)).toHaveProperty('next', '/account/sessions')
    await web.service.sql`update app.factor_drafts set expires_at = now() where user_id = ${user.id}`
    await browser.submit(`${BASE}/app`, { code: '000000', setup_code: '0000-0000' })
    expect(browser.page.body).toContain(`<a href="${BASE}?next=${next}">`)
  })

  it.each(['https://evil.test/', '//evil.test', '/s/../evil', '/no-page'])('carries %s nowhere', async (next) => {
    const user = await newUser(web.service)
    const browser = await signedIn(user.email, '1 minute')
    await browser.open(`${BASE}?next=${encodeURIComponent(next)}`)
    expect(browser.hidden(`${BASE}/start`)).not.toHaveProperty('next')
    const answer = await browser.post(`${BASE}/start`, { ...browser.hidden(`${BASE}/start`), next })
    expect([answer.status, answer.location]).toEqual([303, `${BASE}/app`])
    await browser.open(`${BASE}/app?next=${encodeURIComponent(next)}`)
    expect(browser.hidden(`${BASE}/app`)).not.toHaveProperty('next')
  })

  it('asks for the password first when the sign-in is old, and refuses a wrong one', async () => {
    const user = await newUser(web.service)
    const browser = await signedIn(user.email, '6 minutes')
    await browser.open(BASE)
    expect(browser.page.body).toContain('<legend>Confirm that it is you</legend>')
    expect(browser.page.body).not.toContain('proof_code')
    await browser.submit(`${BASE}/start`, { proof_password: 'a wrong passphrase' })
    expect(browser.page.status).toBe(422)
    expect(browser.page.body).toContain('<a href="#field-proof_password">')
    expect(browser.page.body).not.toContain('a wrong passphrase')
    const before = session(browser)
    await browser.submit(`${BASE}/start`, { proof_password: PASSWORD })
    expect(keyOn(browser)).toHaveLength(32)
    expect([await isLive(before), await isLive(session(browser))]).toEqual([false, true])
  })

  it('begins again when its page was open for too long, or is that of another session', async () => {
    const user = await newUser(web.service)
    const browser = await signedIn(user.email, '1 minute')
    await browser.open(BASE)
    await browser.submit(`${BASE}/start`)
    const secret = keyOn(browser)
    const other = await signedIn(user.email, '1 minute')
    await other.open(`${BASE}/app`)
    expect(other.page.body).not.toContain(secret)
    expect(other.page.body).toContain('This page was open too long. Start again.')
    await web.service.sql`update app.factor_drafts set expires_at = now() where user_id = ${user.id}`
    await browser.submit(`${BASE}/app`, { code: codeNow(secret), setup_code: await mailedCode(user.email) })
    expect(browser.page.status).toBe(422)
    expect(browser.page.body).toContain('This page was open too long. Start again.')
    expect((await browser.open(`${BASE}/app`)).body).toContain('This page was open too long. Start again.')
  })
})

describe('a person with an app', () => {
  it('replaces a lost phone by recovery codes alone, and keeps the other codes', async () => {
    const user = await newFactorUser(web.service)
    const [first = '', second = ''] = user.recoveryCodes
    const browser = web.browser()
    await browser.signIn(user.email)
    await browser.open('/sign-in/recovery-code')
    await browser.submit('/sign-in/recovery-code', { recovery_code: first })
    const before = session(browser)
    await browser.submit(`${BASE}/start`, { proof_recovery_code: first })
    expect(browser.page.status).toBe(422)
    expect(browser.page.body).toContain('That recovery code is wrong or was used already.')
    expect(browser.page.body).toMatch(/<details open><summary>/)
    await browser.submit(`${BASE}/start`, { proof_recovery_code: second })
    const secret = keyOn(browser)
    expect([secret.length, codesOn(browser), browser.page.body.includes('setup_code')]).toEqual([32, [], false])
    await browser.submit(`${BASE}/app`, { code: codeNow(secret) })
    expect(browser.page.body).toContain('Your authenticator app is set up.')
    expect(browser.page.body).toContain('8 recovery codes are left.')
    expect(await isLive(before)).toBe(false)
  })

  it('sets the new cookie also when the form is refused after its proof', async () => {
    const user = await newFactorUser(web.service)
    const browser = await signedIn(user.email, '1 hour')
    await browser.open('/account')
    const before = session(browser)
    const proof_code = codeNow(user.secret)
    const fields = { current_password: PASSWORD, new_password: 'short', repeated: 'short', proof_code }
    await browser.submit('/account/password', fields)
    expect(browser.page.status).toBe(422)
    expect([await isLive(before), await isLive(session(browser))]).toEqual([false, true])
    expect(browser.page.body).not.toContain('proof_code')
    expect(browser.page.body).not.toContain(proof_code)
  })

  it('makes new recovery codes, which count once they are saved', async () => {
    const user = await newFactorUser(web.service)
    const browser = await signedIn(user.email, '1 minute')
    await browser.open(`${BASE}/recovery-codes`)
    expect(codesOn(browser)).toEqual([])
    await browser.submit(`${BASE}/recovery-codes`, { proof_code: wrongCode(user.secret) })
    expect(browser.page.status).toBe(422)
    await browser.submit(`${BASE}/recovery-codes`, { proof_code: codeNow(user.secret) })
    const codes = codesOn(browser)
    expect(codes).toHaveLength(10)
    expect(codes).not.toEqual(user.recoveryCodes)
    await browser.submit(`${BASE}/recovery-codes`)
    expect(browser.page.body).toContain('Your new recovery codes work now.')
    const other = web.browser()
    await other.signIn(user.email)
    await other.open('/sign-in/recovery-code')
    await other.submit('/sign-in/recovery-code', { recovery_code: user.recoveryCodes[0] ?? '' })
    expect(other.page.status).toBe(422)
    await other.submit('/sign-in/recovery-code', { recovery_code: codes[0] ?? '' })
    expect(other.page.body).toContain('9 recovery codes are left.')
  })

  it('puts the new recovery codes in place that the page showed: those of another tab are shown first', async () => {
    const user = await newFactorUser(web.service)
    const browser = await signedIn(user.email, '1 minute')
    await browser.open(`${BASE}/recovery-codes`)
    await browser.submit(`${BASE}/recovery-codes`, { proof_code: codeNow(user.secret) })
    const shown = codesOn(browser)
    await web.service.request('POST /v1/auth/factors/draft', {
      token: session(browser) ?? '',
      body: { renew_codes: true },
    })
    await browser.submit(`${BASE}/recovery-codes`)
    expect(browser.page.status).toBe(422)
    expect(codesOn(browser)).toHaveLength(10)
    expect(codesOn(browser)).not.toEqual(shown)
    await browser.submit(`${BASE}/recovery-codes`)
    expect(browser.page.body).toContain('Your new recovery codes work now.')
  })

  it('renames and removes it, on a page that says what follows and asks for a code', async () => {
    const user = await newFactorUser(web.service)
    const browser = await signedIn(user.email, '1 minute')
    await browser.open(`${BASE}/${user.factorId}/name`)
    await browser.submit(`${BASE}/${user.factorId}/name`, { name: '' })
    expect(browser.page.status).toBe(422)
    await browser.submit(`${BASE}/${user.factorId}/name`, { name: 'My old phone' })
    expect(browser.page.body).toContain('My old phone')
    await browser.open(`${BASE}/${user.factorId}/remove`)
    expect(browser.page.body).toContain('<h1>Remove My old phone?</h1>')
    expect(browser.page.body).toContain('It is your only second step')
    const remove = (fields: Record<string, string>) => browser.submit(`${BASE}/${user.factorId}/remove`, fields)
    await remove({ proof_code: wrongCode(user.secret) })
    expect([browser.page.status, browser.page.body.includes('<a href="#field-proof_code">')]).toEqual([422, true])
    await remove({})
    expect([browser.page.status, browser.page.body.includes('Confirm that it is you')]).toEqual([422, true])
    await remove({ proof_code: codeNow(user.secret) })
    expect(browser.page.body).toContain('The app was removed.')
    expect(browser.page.body).toContain('Set up an app')
    expect((await login(web.service, user.email)).body.token).toBeDefined()
    const stranger = await newFactorUser(web.service)
    for (const page of ['name', 'remove'])
      expect((await browser.request(`${BASE}/${stranger.factorId}/${page}`)).status).toBe(404)
  })
})

describe('the page that confirms', () => {
  const CONFIRM = '/account/confirm'
  it('steps up by a code, a recovery code or the password of somebody without a factor, and leads on', async () => {
    const [user, plain] = [await newFactorUser(web.service), await newUser(web.service)]
    const [recovery_code = ''] = user.recoveryCodes
    const proofs = [
      [user.email, { code: codeNow(user.secret) }, { code: wrongCode(user.secret) }],
      [user.email, { recovery_code }, { recovery_code: '0'.repeat(24) }],
      [plain.email, { password: PASSWORD }, { password: 'a wrong passphrase' }],
    ] as const
    for (const [email, right, wrong] of proofs) {
      const browser = await signedIn(email, '1 hour')
      const before = session(browser)
      await browser.open(`${CONFIRM}?next=${encodeURIComponent('/account/sessions')}`)
      for (const refused of [{}, wrong]) {
        await browser.submit(CONFIRM, refused)
        expect([browser.page.status, browser.page.body.includes('<a href="#field-')]).toEqual([422, true])
        for (const typed of Object.values(refused)) expect(browser.page.body).not.toContain(typed)
      }
      await browser.submit(CONFIRM, right)
      expect(browser.page.body).toContain('<h1>Where you are signed in</h1>')
      expect([await isLive(before), await isLive(session(browser))]).toEqual([false, true])
      await forgetStep(web.service, user.id)
    }
  })

  it('takes no password of somebody with a factor, and leads to no other site', async () => {
    const user = await newFactorUser(web.service)
    const browser = await signedIn(user.email, '1 hour')
    await browser.open(`${CONFIRM}?next=https://evil.test/`)
    expect(browser.page.body).not.toMatch(/<main.*evil\.test.*<\/main>/s)
    await browser.submit(CONFIRM, { password: PASSWORD })
    expect(browser.page.status).toBe(422)
    const answer = await browser.post(CONFIRM, {
      ...browser.hidden(CONFIRM),
      code: codeNow(user.secret),
      next: '//evil.test',
    })
    expect([answer.status, answer.location]).toEqual([303, BASE])
  })
})
