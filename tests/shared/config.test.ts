import { readFile } from 'node:fs/promises'
import { README, withSettings } from '#infra/tools/settings.ts'
import { describe, expect, it } from 'vitest'
import { relyingParty } from '#shared/base/relying-party.ts'
import { ConfigError, parseConfig, SETTINGS, settingsIn } from '#shared/base/config.ts'

const SECRET_IDS = [
  'PEPPER_SECRET_ID',
  'MAIL_KEY_SECRET_ID',
  'FACTOR_KEY_SECRET_ID',
  'WEB_KEY_SECRET_ID',
  'CACHE_SECRET_ID',
  'DATABASE_SECRET_ID',
  'ROLE_SECRET_IDS',
  'PROBE_SECRET_ID',
  'VAULT_DATABASE_SECRET_ID',
]
// Settings that accept any text.
const TEXTS = new Set([
  ...SECRET_IDS,
  'DATABASE_HOST',
  'DATABASE_CA_FILE',
  'MIGRATIONS_FOLDER',
  'VAULT_KEY_ID',
  'EVENT_BUS_NAME',
  'PLATFORM_NAME',
  'TOTP_ISSUER',
])
const CANARY = 'canary-4d1e'

const failure = (env: Record<string, string | undefined>): string => {
  try {
    parseConfig(env)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as Error).message
  }
  throw new Error('it parsed')
}

describe('parseConfig', () => {
  it('returns the documented defaults for an empty environment', () => {
    expect(parseConfig({})).toMatchObject({
      secretIds: { pepper: '', mailKey: '', cache: '', database: '', roles: [] },
      database: { tls: 'verify-full', caFile: '', host: '', prepare: true },
      session: { idleSeconds: 12 * 3600, absoluteSeconds: 7 * 86_400, pendingSeconds: 15 * 60 },
      login: { windowSeconds: 15 * 60, emailLimit: 10, ipLimit: 100 },
      password: { minLength: 15, pwnedPasswordsUrl: '' },
      argon2: { memoryKib: 19_456, iterations: 2 },
    })
  })

  it('reads settings from the environment', () => {
    const { session, login, password, argon2, database } = parseConfig({
      SESSION_IDLE_SECONDS: '60',
      SESSION_ABSOLUTE_SECONDS: '120',
      SESSION_PENDING_SECONDS: '30',
      LOGIN_WINDOW_SECONDS: '10',
      LOGIN_EMAIL_LIMIT: '3',
      LOGIN_IP_LIMIT: '4',
      PASSWORD_MIN_LENGTH: '8',
      ARGON2_MEMORY_KIB: '47104',
      ARGON2_ITERATIONS: '1',
      DATABASE_PREPARE: 'false',
    })
    expect({ session, login, password, argon2 }).toMatchObject({
      session: { idleSeconds: 60, absoluteSeconds: 120, pendingSeconds: 30 },
      login: { windowSeconds: 10, emailLimit: 3, ipLimit: 4 },
      password: { minLength: 8 },
      argon2: { memoryKib: 47_104, iterations: 1 },
    })
    expect(database.prepare).toBe(false)
  })

  it('reads the ids of the secrets', () => {
    const env = Object.fromEntries(SECRET_IDS.map((name) => [name, `${name},second`]))
    expect(parseConfig(env).secretIds).toEqual({
      pepper: 'PEPPER_SECRET_ID,second',
      mailKey: 'MAIL_KEY_SECRET_ID,second',
      factorKey: 'FACTOR_KEY_SECRET_ID,second',
      webKey: 'WEB_KEY_SECRET_ID,second',
      cache: 'CACHE_SECRET_ID,second',
      database: 'DATABASE_SECRET_ID,second',
      roles: ['ROLE_SECRET_IDS', 'second'],
      probe: 'PROBE_SECRET_ID,second',
      vaultDatabase: 'VAULT_DATABASE_SECRET_ID,second',
    })
  })

  it('names a setting that does not parse, but never its value', () => {
    const others = settingsIn(SETTINGS).flatMap(({ name }) => (TEXTS.has(name) ? [] : [name]))
    expect(others.length).toBeGreaterThan(10)
    for (const name of others) {
      const message = failure({ [name]: CANARY })
      expect(message).toContain(name)
      expect(message).not.toContain(CANARY)
      for (const other of others) if (other !== name) expect(message).not.toContain(other)
    }
  })

  it('names all invalid settings in one error', () => {
    const message = failure({ DATABASE_CONNECTIONS: 'x', ARGON2_ITERATIONS: 'y', PROBLEM_BASE_URL: 'z' })
    for (const name of ['DATABASE_CONNECTIONS', 'ARGON2_ITERATIONS', 'PROBLEM_BASE_URL']) {
      expect(message).toContain(name)
    }
  })

  it.each(['', ' ', '1.5', '-1', '+1', '1e3', '0x10', ' 1', '1 ', '1_000', '٣', 'NaN', 'null', '9'.repeat(30), '1\n'])(
    'rejects a number written as %j',
    (value) => {
      expect(failure({ LOGIN_EMAIL_LIMIT: value })).toContain('LOGIN_EMAIL_LIMIT')
    },
  )

  it.each([
    ['LOGIN_EMAIL_LIMIT', '0'],
    ['LOGIN_WINDOW_SECONDS', '0'],
    ['SESSION_IDLE_SECONDS', '0'],
    ['PASSWORD_MIN_LENGTH', '7'],
    ['PASSWORD_MIN_LENGTH', '129'],
    ['ARGON2_MEMORY_KIB', '7'],
    ['ARGON2_MEMORY_KIB', '262145'],
    ['ARGON2_ITERATIONS', '0'],
    ['ARGON2_ITERATIONS', '17'],
    ['DATABASE_CONNECTIONS', '0'],
    ['DATABASE_PREPARE', 'yes'],
    ['DATABASE_TLS', 'require'],
    ['PWNED_PASSWORDS_URL', 'api.example'],
    ['PLATFORM_NAME', ''],
    ['PLATFORM_NAME', '\u2800'],
    ['PLATFORM_NAME', 'a'.repeat(61)],
    ['PLATFORM_NAME', 'Print\r\nBcc: x@evil.test'],
    ['PLATFORM_LOGO_URL', '//evil.test/logo.png'],
    ['PLATFORM_LOGO_URL', '/\\evil.test/logo.png'],
    ['PLATFORM_LOGO_URL', 'https://evil.test/logo.png'],
    ['PLATFORM_LOGO_URL', 'data:image/svg+xml,x'],
    ['SUPPORT_URL', 'javascript:alert(1)'],
    ['SUPPORT_URL', 'help@shop.test'],
    ['PRIVACY_URL', 'mailto:privacy@shop.test'],
    ['ACCESSIBILITY_URL', '/accessibility'],
    ['SECURITY_CONTACT', 'javascript:alert(1)'],
    ['SECURITY_CONTACT', 'http://shop.test/security'],
    ['PLATFORM_LINKS', 'https://quotes.test'],
    ['PLATFORM_LINKS', '{"name": "Quotes", "url": "https://quotes.test"}'],
    ['PLATFORM_LINKS', '[{"name": "Quotes"}]'],
    ['PLATFORM_LINKS', '[{"name": "Quotes", "url": "javascript:alert(1)"}]'],
    ['PLATFORM_LINKS', '[{"name": "", "url": "https://quotes.test"}]'],
    ['PLATFORM_LINKS', '[{"name": "Quotes", "url": "https://quotes.test", "icon": "x"}]'],
    ['PLATFORM_LINKS', 'null'],
  ])('rejects the setting %s=%s', (name, value) => {
    const message = failure({ [name]: value })
    expect(message).toContain(name)
  })

  it('is named Tenantry, with no logo and no links, where the platform sets nothing', () => {
    const { platform } = parseConfig({})
    const none = { logoUrl: '', supportUrl: '', privacyUrl: '', accessibilityUrl: '', links: [] }
    expect(platform).toEqual({ name: 'Tenantry', ...none })
  })

  it.each(['/logo.svg', 'https://app.shop.test/logo.svg'])('takes a logo of the front end: %s', (logo) => {
    const env = { WEB_BASE_URL: 'https://app.shop.test/office', PLATFORM_LOGO_URL: logo }
    expect(parseConfig(env).platform.logoUrl).toBe(logo)
  })

  it.each([
    ['https://app.shop.test', ''],
    ['https://app.shop.test/office', 'app.shop.test'],
    ['https://app.shop.test:8443', 'shop.test'],
    ['http://localhost:3001', 'localhost'],
  ])('makes passkeys at %s for the RP ID "%s"', (url, rpId) => {
    const config = parseConfig({ WEB_BASE_URL: url, PASSKEY_RP_ID: rpId })
    expect(relyingParty(config)).toEqual({ rpId: rpId || 'app.shop.test', origin: new URL(url).origin })
  })

  it.each([
    ['https://app.shop.test', 'other.test'],
    ['https://app.shop.test', 'p.shop.test'],
    ['https://app.shop.test', 'hop.test'],
    ['https://app.shop.test', 'test'],
    ['https://app.shop.test', 'admin.app.shop.test'],
    ['https://app.shop.test', 'APP.shop.test'],
    ['https://app.shop.test', 'https://app.shop.test'],
    ['http://127.0.0.1:3001', '127.0.0.1'],
    ['http://[::1]:3001', '0.0.1'],
    ['http://2130706433', '0.0.1'],
  ])('refuses at %s the RP ID %s', (url, rpId) => {
    expect(failure({ WEB_BASE_URL: url, PASSKEY_RP_ID: rpId })).toContain('PASSKEY_RP_ID')
  })

  it.each(['http://127.0.0.1:3001', 'http://[::1]:3001', 'http://2130706433'])('makes no passkeys at %s', (url) => {
    expect(relyingParty(parseConfig({ WEB_BASE_URL: url }))).toBeNull()
  })

  it('removes trailing slashes from the base URL of problem types', () => {
    for (const url of ['https://a.test/problems', 'https://a.test/problems/', 'https://a.test/problems//']) {
      expect(parseConfig({ PROBLEM_BASE_URL: url }).problemBaseUrl).toBe('https://a.test/problems')
    }
  })

  it('lists every setting in infra/README.md as `npm run settings` writes it', async () => {
    const readme = await readFile(README, 'utf8')
    expect(readme, 'run `npm run settings`').toBe(withSettings(readme))
  })
})
