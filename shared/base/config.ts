// This file has more than 300 lines, so that a new setting is one file to edit.
import * as v from 'valibot'
import { rpIdFaults } from '#shared/base/relying-party.ts'
import { addressWith, PlatformLinks, PlatformLogo, PlatformName } from '#shared/schema/platform.ts'
import { TrustedProxiesSetting } from '#shared/schema/trusted-proxies.ts'
import { VendorUrlsSetting } from '#shared/schema/vendor-urls.ts'

/** A setting: one environment variable. */
export interface Setting<Value> {
  readonly name: string
  /** Its allowed values, in words. */
  readonly type: string
  /** Its text when the variable is not set. */
  readonly fallback: string
  readonly description: string
  readonly schema: v.GenericSchema<string | undefined, Value>
}

const text = (name: string, description: string): Setting<string> => ({
  name,
  type: 'text',
  fallback: '',
  description,
  schema: v.string(),
})

const wholeNumber = (name: string, fallback: number, min: number, max: number, description: string, unit = '') => ({
  name,
  type: max === ANY ? `whole number from ${min}` : `${min} to ${max}${unit}`,
  fallback: String(fallback),
  description,
  schema: v.pipe(
    v.string(),
    v.regex(/^\d{1,9}$/, 'must be a whole number'),
    v.transform(Number),
    v.minValue(min, `must be at least ${min}`),
    v.maxValue(max, `must be at most ${max}`),
  ),
})
const ANY = 999_999_999

const limit = (name: string, fallback: number, description: string) => wholeNumber(name, fallback, 1, ANY, description)

const factorLimit = (name: string, fallback: number, description: string) =>
  wholeNumber(name, fallback, 1, 10_000, description)

const DAY = 86_400
const YEAR = 365 * DAY

const seconds = (name: string, fallback: number, max: number, description: string) =>
  wholeNumber(name, fallback, 1, max, description, ' seconds')

const oneOf = <const Value extends string>(name: string, values: readonly [Value, ...Value[]], description: string) => {
  const type = values.join(' or ')
  return { name, type, fallback: values[0], description, schema: v.picklist(values, `must be ${type}`) }
}

const mapped = <From, To>(setting: Setting<From>, map: (value: From) => To): Setting<To> => ({
  ...setting,
  schema: v.pipe(setting.schema, v.transform(map)),
})

const flag = (name: string, description: string): Setting<boolean> =>
  mapped(oneOf(name, ['true', 'false'], description), (value) => value === 'true')

const url = (name: string, fallback: string, description: string) => ({
  name,
  type: fallback === '' ? 'absolute URL or empty' : 'absolute URL',
  fallback,
  description,
  schema: v.pipe(
    v.string(),
    v.check((value) => (value === '' && fallback === '') || URL.canParse(value), 'must be an absolute URL'),
  ),
})

/** An address that people are led to, or none. */
const optionalAddress = (name: string, schemes: readonly [string, ...string[]], description: string) => {
  const type = `${schemes.join(' or ')} address, or empty`
  return {
    name,
    type,
    fallback: '',
    description,
    schema: v.union([v.literal(''), addressWith(schemes, `must be an ${type}`)], `must be an ${type}`),
  }
}

const baseUrl = (name: string, fallback: string, description: string): Setting<string> =>
  mapped(url(name, fallback, description), (value) => value.replace(/\/+$/, ''))

const list = (name: string, description: string): Setting<readonly string[]> => ({
  ...mapped(text(name, description), (value) => value.split(',').filter((item) => item !== '')),
  type: 'comma-separated list',
})

/** Every setting of the functions, at its place in `Config`. */
export const SETTINGS = {
  secretIds: {
    pepper: text('PEPPER_SECRET_ID', 'secret with the pepper'),
    mailKey: text('MAIL_KEY_SECRET_ID', 'secret with the mail key'),
    factorKey: text('FACTOR_KEY_SECRET_ID', 'secret with the factor key'),
    webKey: text('WEB_KEY_SECRET_ID', 'secret with the web key'),
    cache: text('CACHE_SECRET_ID', 'secret with the URL and token of the cache'),
    database: text('DATABASE_SECRET_ID', "secret with the login of the function's database role"),
    roles: list('ROLE_SECRET_IDS', 'secrets with the logins of all service roles, for `migrate`'),
    probe: text('PROBE_SECRET_ID', 'secret with email and password of the user that probes the API'),
    vaultDatabase: text('VAULT_DATABASE_SECRET_ID', 'secret with the login of the role that handles ciphertext'),
  },
  database: {
    host: text('DATABASE_HOST', 'proxy in front of the server that the secret names; empty: none'),
    tls: oneOf('DATABASE_TLS', ['verify-full', 'disable'], '`disable` is for servers on this machine only'),
    caFile: text('DATABASE_CA_FILE', 'PEM file of further trusted certificates; empty: none'),
    migrationsFolder: text('MIGRATIONS_FOLDER', 'folder of the SQL files, for `migrate` and `operate`'),
    connections: wholeNumber('DATABASE_CONNECTIONS', 1, 1, 100, 'connections per instance'),
    prepare: flag('DATABASE_PREPARE', '`false` behind RDS Proxy or a transaction pooler'),
  },
  events: { bus: text('EVENT_BUS_NAME', 'EventBridge bus that gets the events') },
  probe: {
    url: url('PROBE_URL', '', 'public address of the API, which `probe-sign-in` uses; empty: none'),
    webUrl: url('PROBE_WEB_URL', '', 'public address of the front end, which `probe-sign-in` uses; empty: none'),
  },
  vault: { keyId: text('VAULT_KEY_ID', 'KMS key that wraps new data keys: id, alias or ARN') },
  vendor: {
    urls: {
      name: 'VENDOR_URLS',
      type: 'JSON object',
      fallback: '{}',
      description: 'URL of each vendor by its code, of its pricing by CODE-pricing; https only, except on this machine',
      schema: VendorUrlsSetting,
    },
    tenantLimit: limit('VENDOR_TENANT_LIMIT', 300, 'vendor checks per tenant and hour'),
    tenantBurst: limit('VENDOR_TENANT_BURST', 10, 'vendor checks per tenant in ten seconds'),
    syncLimit: limit('SYNC_TENANT_LIMIT', 60, 'requests to start a sync run per tenant and hour'),
  },
  session: {
    idleSeconds: seconds('SESSION_IDLE_SECONDS', DAY / 2, YEAR, 'time without a request after which a session ends'),
    absoluteSeconds: seconds('SESSION_ABSOLUTE_SECONDS', 7 * DAY, YEAR, 'lifetime of a session'),
    slideStepSeconds: wholeNumber(
      'SESSION_SLIDE_STEP_SECONDS',
      0,
      0,
      DAY,
      'time between two writes of the idle expiry, at most half of it; 0: at each use',
      ' seconds',
    ),
    maxPerUser: wholeNumber('SESSION_MAX_PER_USER', 50, 1, 1000, 'live sessions per user; the longest unused one ends'),
    pendingSeconds: seconds('SESSION_PENDING_SECONDS', 900, YEAR, 'lifetime of a session that selects no tenant'),
  },
  login: {
    windowSeconds: seconds('LOGIN_WINDOW_SECONDS', 900, DAY, 'window of the limits on sign-ins, passwords and links'),
    emailLimit: limit('LOGIN_EMAIL_LIMIT', 10, 'attempts per email, client network and window'),
    accountLimit: limit('LOGIN_ACCOUNT_LIMIT', 100, 'failed attempts per email and window, over all networks'),
    ipLimit: limit('LOGIN_IP_LIMIT', 100, 'attempts per client network and window'),
    serviceKeyLimit: limit('SERVICE_KEY_LIMIT', 100, 'wrong service keys per client network and window'),
  },
  apiKey: {
    maxDays: wholeNumber('API_KEY_MAX_DAYS', 366, 1, 3660, 'longest life of an API key', ' days'),
    maxPerTenant: wholeNumber('API_KEY_MAX_PER_TENANT', 50, 1, 1000, 'live API keys per tenant'),
    limit: limit('API_KEY_LIMIT', 600, 'requests per API key and minute'),
    revokeLimit: limit('API_KEY_REVOKE_LIMIT', 30, 'keys sent for revocation per client network and hour'),
  },
  invite: {
    ttlSeconds: seconds('INVITE_TTL_SECONDS', 7 * DAY, YEAR, 'lifetime of an invitation'),
    tenantLimit: limit('INVITE_TENANT_LIMIT', 100, 'invitations per tenant and hour'),
    recipientLimit: limit('INVITE_RECIPIENT_LIMIT', 5, 'invitations mailed per recipient and day, over all tenants'),
    resendSeconds: wholeNumber(
      'INVITE_RESEND_SECONDS',
      600,
      0,
      DAY,
      'time before an invitation is mailed again; 0: no limit',
      ' seconds',
    ),
  },
  forgot: {
    emailLimit: limit('FORGOT_EMAIL_LIMIT', 5, 'reset or verification mails per user and hour'),
    ipLimit: limit('FORGOT_IP_LIMIT', 30, 'reset or verification mails per client network and hour'),
  },
  factor: {
    stepUpSeconds: wholeNumber(
      'STEP_UP_SECONDS',
      600,
      60,
      3600,
      'how long a step-up or a sign-in is fresh',
      ' seconds',
    ),
    limit: factorLimit('SECOND_FACTOR_LIMIT', 10, 'codes of an app per user and client network in 15 minutes'),
    dayLimit: factorLimit('SECOND_FACTOR_DAY_LIMIT', 30, 'codes of an app per user and day, over unknown networks'),
    ipLimit: factorLimit('SECOND_FACTOR_IP_LIMIT', 100, 'recovery codes and passkeys per client network in 15 minutes'),
    passkeyRpId: {
      name: 'PASSKEY_RP_ID',
      type: 'domain, or empty',
      fallback: '',
      description: 'domain that passkeys are for: the host of `WEB_BASE_URL`, or a parent domain; empty: that host',
      schema: v.pipe(v.string(), v.regex(/^([a-z0-9-]+(\.[a-z0-9-]+)*)?$/, 'must be a domain in lower case')),
    },
    resetHours: wholeNumber(
      'FACTOR_RESET_HOURS',
      24,
      1,
      168,
      'time between the request for a reset of a second factor and its effect',
      ' hours',
    ),
    issuer: {
      name: 'TOTP_ISSUER',
      type: 'one line of 1 to 60 characters',
      fallback: 'Tenantry',
      description: 'what authenticator apps call the platform',
      schema: PlatformName,
    },
  },
  reset: { ttlSeconds: seconds('RESET_TTL_SECONDS', 3600, DAY, 'lifetime of a password reset link') },
  verify: { ttlSeconds: seconds('VERIFY_TTL_SECONDS', DAY, 30 * DAY, 'lifetime of an email verification link') },
  mail: {
    from: {
      name: 'MAIL_FROM',
      type: 'email address, with or without a name',
      fallback: 'no-reply@tenantry.example',
      description: 'sender of mails; without a name of its own it has that of the platform',
      schema: v.pipe(
        v.string(),
        v.maxLength(320, 'must be an address'),
        v.regex(/^(?:[!-~ ]+ <[!-?A-~]+@[A-Za-z0-9.-]+>|[!-?A-~]+@[A-Za-z0-9.-]+)$/, 'must be an address'),
      ),
    },
    webBaseUrl: baseUrl('WEB_BASE_URL', 'http://localhost:3001', 'front end; links in mails start with it'),
  },
  password: {
    // NIST SP 800-63B and OWASP ASVS 6.2.1 require at least 8.
    minLength: wholeNumber('PASSWORD_MIN_LENGTH', 15, 8, 128, 'shortest new password', ' characters'),
    pwnedPasswordsUrl: url('PWNED_PASSWORDS_URL', '', 'range API of breached passwords; empty: none is asked'),
  },
  // The maximum is what one sign-in may take of the memory and time of a Lambda instance.
  argon2: {
    memoryKib: wholeNumber('ARGON2_MEMORY_KIB', 19_456, 8, 262_144, 'memory of a password hash', ' KiB'),
    iterations: wholeNumber('ARGON2_ITERATIONS', 2, 1, 16, 'passes of a password hash'),
  },
  trustedProxies: {
    name: 'TRUSTED_PROXIES',
    type: 'comma-separated CIDR blocks',
    fallback: '',
    description: 'proxies whose `X-Forwarded-For` names the client; empty: none',
    schema: TrustedProxiesSetting,
  },
  securityContact: optionalAddress(
    'SECURITY_CONTACT',
    ['https:', 'mailto:'],
    'where to report a vulnerability; empty: there is no security.txt',
  ),
  platform: {
    name: {
      name: 'PLATFORM_NAME',
      type: 'one line of 1 to 60 characters',
      fallback: 'Tenantry',
      description: 'name of the platform on pages, in mails and as their sender',
      schema: PlatformName,
    },
    logoUrl: {
      name: 'PLATFORM_LOGO_URL',
      type: 'path or URL of the front end, or empty',
      fallback: '',
      description: 'image beside the name on pages',
      schema: PlatformLogo,
    },
    supportUrl: optionalAddress(
      'SUPPORT_URL',
      ['https:', 'http:', 'mailto:'],
      'where people get help; a mailto: address also receives the replies to mails',
    ),
    privacyUrl: optionalAddress('PRIVACY_URL', ['https:', 'http:'], 'privacy notice, linked on pages and in mails'),
    accessibilityUrl: optionalAddress(
      'ACCESSIBILITY_URL',
      ['https:', 'http:'],
      'accessibility statement, linked on pages',
    ),
    links: {
      name: 'PLATFORM_LINKS',
      type: 'JSON list of `{"name", "url"}`, or empty',
      fallback: '',
      description: 'other applications of the platform, for people whose role has no page here',
      schema: PlatformLinks,
    },
  },
  problemBaseUrl: baseUrl('PROBLEM_BASE_URL', 'https://tenantry.example/problems', 'problem types start with it'),
} as const

type Values<Table> = {
  readonly [Key in keyof Table]: Table[Key] extends Setting<infer Value> ? Value : Values<Table[Key]>
}

/** What a stage sets. One object for the whole life of a process. */
export type Config = Values<typeof SETTINGS>

interface Table {
  readonly [key: string]: Setting<unknown> | Table
}

const isSetting = (entry: Setting<unknown> | Table): entry is Setting<unknown> => 'schema' in entry

/** Returns the settings of a part of the table, in its order. */
export const settingsIn = (table: Table): Setting<unknown>[] =>
  Object.values(table).flatMap((entry) => (isSetting(entry) ? [entry] : settingsIn(entry)))

/** A setting that does not parse. The message names the setting and never its value, which may be a secret. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

/** Parses the environment. Throws ConfigError, which names every setting that is wrong. */
export function parseConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const faults: string[] = []
  const parse = ({ name, fallback, schema }: Setting<unknown>): unknown => {
    const { issues = [], output } = v.safeParse(schema, env[name] ?? fallback)
    faults.push(...issues.map(({ message }) => `${name} ${message}`))
    return output
  }
  const valuesOf = (table: Table): object =>
    Object.fromEntries(
      Object.entries(table).map(([key, entry]) => [key, isSetting(entry) ? parse(entry) : valuesOf(entry)]),
    )
  // `valuesOf` does to the table what the type `Values` says.
  const config = valuesOf(SETTINGS) as Config
  if (faults.length === 0) faults.push(...foreignLogo(config), ...rpIdFaults(config))
  if (faults.length > 0) throw new ConfigError(`Settings that do not parse: ${faults.join('; ')}`)
  return config
}

/** The pages show images of their own origin alone. */
const foreignLogo = ({ platform: { logoUrl }, mail: { webBaseUrl } }: Config): readonly string[] =>
  new URL(logoUrl, webBaseUrl).origin === new URL(webBaseUrl).origin
    ? []
    : ['PLATFORM_LOGO_URL must have the origin of WEB_BASE_URL']
