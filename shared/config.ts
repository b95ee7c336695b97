import * as v from 'valibot'
import { type VendorUrls, VendorUrlsSetting } from '#shared/schema/vendor-urls.ts'

const wholeNumber = (fallback: number, min: number, max: number) =>
  v.pipe(
    v.optional(v.string(), String(fallback)),
    v.regex(/^\d{1,9}$/, 'must be a whole number'),
    v.transform(Number),
    v.minValue(min, `must be at least ${min}`),
    v.maxValue(max, `must be at most ${max}`),
  )

const flag = (fallback: boolean) =>
  v.pipe(
    v.optional(v.string(), String(fallback)),
    v.picklist(['true', 'false'], 'must be true or false'),
    v.transform((value) => value === 'true'),
  )

const url = (fallback: string) => v.optional(v.pipe(v.string(), v.url('must be an absolute URL')), fallback)

const DAY_SECONDS = 86_400

const Settings = v.object({
  SERVICE_SECRET_ID: v.optional(v.string(), ''),
  CACHE_SECRET_ID: v.optional(v.string(), ''),
  DATABASE_SECRET_ID: v.optional(v.string(), ''),
  ROLE_SECRET_IDS: v.optional(v.string(), ''),
  VAULT_DATABASE_SECRET_ID: v.optional(v.string(), ''),
  // The KMS key that wraps new data keys: its id, alias or ARN.
  VAULT_KEY_ID: v.optional(v.string(), ''),
  VENDOR_URLS: VendorUrlsSetting,
  VENDOR_TENANT_LIMIT: wholeNumber(300, 1, 999_999_999),
  // Where a proxy stands before the server that the secret names.
  DATABASE_HOST: v.optional(v.string(), ''),
  DATABASE_TLS: v.optional(v.picklist(['verify-full', 'disable'], 'must be verify-full or disable'), 'verify-full'),
  DATABASE_CA_FILE: v.optional(v.string(), ''),
  MIGRATIONS_FOLDER: v.optional(v.string(), ''),
  DATABASE_CONNECTIONS: wholeNumber(1, 1, 100),
  DATABASE_PREPARE: flag(true),
  SESSION_IDLE_SECONDS: wholeNumber(12 * 3600, 1, 365 * DAY_SECONDS),
  SESSION_ABSOLUTE_SECONDS: wholeNumber(7 * DAY_SECONDS, 1, 365 * DAY_SECONDS),
  SESSION_PENDING_SECONDS: wholeNumber(15 * 60, 1, 365 * DAY_SECONDS),
  INVITE_TTL_SECONDS: wholeNumber(7 * DAY_SECONDS, 1, 365 * DAY_SECONDS),
  RESET_TTL_SECONDS: wholeNumber(3600, 1, DAY_SECONDS),
  VERIFY_TTL_SECONDS: wholeNumber(DAY_SECONDS, 1, 30 * DAY_SECONDS),
  INVITE_TENANT_LIMIT: wholeNumber(100, 1, 999_999_999),
  FORGOT_EMAIL_LIMIT: wholeNumber(5, 1, 999_999_999),
  FORGOT_IP_LIMIT: wholeNumber(30, 1, 999_999_999),
  LOGIN_WINDOW_SECONDS: wholeNumber(15 * 60, 1, DAY_SECONDS),
  LOGIN_EMAIL_LIMIT: wholeNumber(10, 1, 999_999_999),
  LOGIN_IP_LIMIT: wholeNumber(100, 1, 999_999_999),
  // NIST SP 800-63B and OWASP ASVS 6.2.1 allow no less than 8.
  PASSWORD_MIN_LENGTH: wholeNumber(15, 8, 128),
  // Upper bounds: one sign-in may not take more memory or time than a Lambda instance has.
  ARGON2_MEMORY_KIB: wholeNumber(19_456, 8, 262_144),
  ARGON2_ITERATIONS: wholeNumber(2, 1, 16),
  PWNED_PASSWORDS_URL: v.optional(v.union([v.literal(''), v.pipe(v.string(), v.url('must be an absolute URL'))]), ''),
  WEB_BASE_URL: url('http://localhost:3001'),
  MAIL_FROM: v.optional(
    v.pipe(
      v.string(),
      v.maxLength(320, 'must be an address'),
      v.regex(/^(?:[!-~ ]+ <[!-?A-~]+@[A-Za-z0-9.-]+>|[!-?A-~]+@[A-Za-z0-9.-]+)$/, 'must be an address'),
    ),
    'Tenantry <no-reply@tenantry.example>',
  ),
  PROBLEM_BASE_URL: url('https://tenantry.example/problems'),
})

/** The environment variables that are settings. */
export const SETTING_NAMES: readonly string[] = Object.keys(Settings.entries)

/** What a stage sets: durations in seconds, memory in KiB. One object for the whole life of a process. */
export interface Config {
  /** Where the secrets are that a function's needs call for; '' for one that it does not need. */
  readonly secretIds: {
    readonly serviceSecret: string
    readonly cache: string
    readonly database: string
    readonly roles: readonly string[]
    readonly vaultDatabase: string
  }
  readonly database: {
    readonly host: string
    readonly tls: 'verify-full' | 'disable'
    readonly caFile: string
    readonly migrationsFolder: string
    readonly connections: number
    readonly prepare: boolean
  }
  readonly vault: { readonly keyId: string }
  readonly vendor: { readonly urls: VendorUrls; readonly tenantLimit: number }
  readonly session: { readonly idleSeconds: number; readonly absoluteSeconds: number; readonly pendingSeconds: number }
  readonly login: { readonly windowSeconds: number; readonly emailLimit: number; readonly ipLimit: number }
  readonly invite: { readonly ttlSeconds: number; readonly tenantLimit: number }
  readonly forgot: { readonly emailLimit: number; readonly ipLimit: number }
  readonly reset: { readonly ttlSeconds: number }
  readonly verify: { readonly ttlSeconds: number }
  readonly mail: { readonly from: string; readonly webBaseUrl: string }
  readonly password: { readonly minLength: number; readonly pwnedPasswordsUrl: string }
  readonly argon2: { readonly memoryKib: number; readonly iterations: number }
  readonly problemBaseUrl: string
}

/** A setting that does not parse. The message names the setting and never its value, which may be a secret. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

/** Parses the environment once, at start. Throws ConfigError, naming every setting that is wrong. */
export function parseConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const parsed = v.safeParse(Settings, env)
  if (!parsed.success) {
    const faults = parsed.issues.map((issue) => `${v.getDotPath(issue) ?? 'environment'} ${issue.message}`)
    throw new ConfigError(`Settings that do not parse: ${faults.join('; ')}`)
  }
  const set = parsed.output
  return {
    secretIds: {
      serviceSecret: set.SERVICE_SECRET_ID,
      cache: set.CACHE_SECRET_ID,
      database: set.DATABASE_SECRET_ID,
      roles: set.ROLE_SECRET_IDS.split(',').filter((id) => id !== ''),
      vaultDatabase: set.VAULT_DATABASE_SECRET_ID,
    },
    vault: { keyId: set.VAULT_KEY_ID },
    vendor: { urls: set.VENDOR_URLS, tenantLimit: set.VENDOR_TENANT_LIMIT },
    database: {
      host: set.DATABASE_HOST,
      tls: set.DATABASE_TLS,
      caFile: set.DATABASE_CA_FILE,
      migrationsFolder: set.MIGRATIONS_FOLDER,
      connections: set.DATABASE_CONNECTIONS,
      prepare: set.DATABASE_PREPARE,
    },
    session: {
      idleSeconds: set.SESSION_IDLE_SECONDS,
      absoluteSeconds: set.SESSION_ABSOLUTE_SECONDS,
      pendingSeconds: set.SESSION_PENDING_SECONDS,
    },
    login: {
      windowSeconds: set.LOGIN_WINDOW_SECONDS,
      emailLimit: set.LOGIN_EMAIL_LIMIT,
      ipLimit: set.LOGIN_IP_LIMIT,
    },
    invite: { ttlSeconds: set.INVITE_TTL_SECONDS, tenantLimit: set.INVITE_TENANT_LIMIT },
    forgot: { emailLimit: set.FORGOT_EMAIL_LIMIT, ipLimit: set.FORGOT_IP_LIMIT },
    reset: { ttlSeconds: set.RESET_TTL_SECONDS },
    verify: { ttlSeconds: set.VERIFY_TTL_SECONDS },
    mail: { from: set.MAIL_FROM, webBaseUrl: set.WEB_BASE_URL.replace(/\/+$/, '') },
    password: { minLength: set.PASSWORD_MIN_LENGTH, pwnedPasswordsUrl: set.PWNED_PASSWORDS_URL },
    argon2: { memoryKib: set.ARGON2_MEMORY_KIB, iterations: set.ARGON2_ITERATIONS },
    problemBaseUrl: set.PROBLEM_BASE_URL.replace(/\/+$/, ''),
  }
}
