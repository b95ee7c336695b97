import { afterAll, beforeAll, expect, it } from 'vitest'
import { PAGE_HEADERS, SCRIPT_POLICY } from '#web/http/headers.ts'
import { ENHANCE, ENHANCE_FILE } from '#web/view/enhance.ts'
import { startWeb, type TestWeb } from '#tests/support/web.ts'

let web: TestWeb
beforeAll(async () => {
  web = await startWeb()
})
afterAll(() => web.close())

const TAG = `<script src="${ENHANCE_FILE.path}" data-working="Working…" defer></script>`
const WITH_PASSKEY = / data-passkey="\{[^"]+\}"(?= defer)/
const POLICY = PAGE_HEADERS['content-security-policy']

it('is loaded by the pages with a form to fill in alone, whose policy alone allows it', async () => {
  const owner = await web.signedIn('owner@acme.test', 'acme-print')
  const stranger = web.browser()
  for (const [browser, path, scripted] of [
    [stranger, '/forgot-password', true],
    [owner, '/account', true],
    [owner, '/account/sessions', false],
    [owner, '/s/acme-print/settings', true],
    [owner, '/s/acme-print/vendor-accounts/new', true],
    [owner, '/s/acme-print/invitations', true],
    [owner, '/s/acme-print/vendor-accounts', false],
    [owner, '/s/acme-print/members', false],
    [owner, '/nowhere', false],
  ] as const) {
    const { body, headers } = await browser.open(path)
    expect(body.match(/<script[^>]*><\/script>/g) ?? [], path).toEqual(scripted ? [TAG] : [])
    expect(headers.get('content-security-policy'), path).toBe(scripted ? SCRIPT_POLICY : POLICY)
  }
  expect(SCRIPT_POLICY).toBe(`${POLICY}; script-src 'self'`)
  expect(POLICY).not.toContain('script')
  // A form that is refused has the field again.
  await owner.open('/account')
  const { body, headers } = await owner.submit('/account/password', { current_password: 'wrong' })
  expect([body.includes(TAG), headers.get('content-security-policy')]).toEqual([true, SCRIPT_POLICY])
})

it('has the options of a passkey where one works, on pages that allow passkeys and no markup of scripts', async () => {
  const browser = web.browser()
  const signIn = await browser.open('/sign-in')
  await browser.signIn('owner@acme.test', 'wrong')
  for (const { body, headers } of [signIn, browser.page]) {
    expect(body).toMatch(WITH_PASSKEY)
    expect(body.replace(WITH_PASSKEY, '')).toContain(TAG)
    expect(headers.get('content-security-policy')).toBe(
      `${SCRIPT_POLICY}; require-trusted-types-for 'script'; trusted-types 'none'`,
    )
    expect(headers.get('permissions-policy')).toBe(
      PAGE_HEADERS['permissions-policy']
        .replace('publickey-credentials-create=()', 'publickey-credentials-create=(self)')
        .replace('publickey-credentials-get=()', 'publickey-credentials-get=(self)'),
    )
  }
})

it('has at most 4 KB, sends nothing, and may be kept for a year', async () => {
  const { body, headers, status } = await web.browser().request(ENHANCE_FILE.path)
  expect([status, body, headers.get('content-type')]).toEqual([200, ENHANCE, 'text/javascript; charset=utf-8'])
  expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
  expect(Buffer.byteLength(ENHANCE)).toBeLessThan(4000)
  expect(ENHANCE).not.toMatch(
    /fetch|XMLHttp|Beacon|eval|Function|innerHTML|import|cookie|Storage|location(?!\.(hostname|reload\(\)))/,
  )
})
