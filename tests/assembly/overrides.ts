import { FACTOR_KEY, MAIL_KEY, PEPPER, TEST_SETTINGS } from '#tests/support/settings.ts'

// Every difference between the assembly under test and its template, with the reason. Everything else is resolved from the
// template. What cannot be resolved stops the start.

/** Settings that the template leaves at their defaults. A test's own settings override them. */
export const ADDED_SETTINGS: Readonly<Record<string, string>> = {
  // The tests hash hundreds of passwords, and sign in thousands of times from one address.
  ...TEST_SETTINGS,
}

/** Settings with another value here. A function gets one only if the template sets it. */
export const REPLACED_SETTINGS = [
  // Tests call the local vendors.
  'VENDOR_URLS',
  // Tests call nothing on the internet.
  'PWNED_PASSWORDS_URL',
  // Tests see the idle expiry move at each use.
  'SESSION_SLIDE_STEP_SECONDS',
] as const

/** Fields of secrets, by the beginning of the secret's id. The template must have each field. */
export const SECRET_FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  // The tests create sessions and read single-use tokens themselves.
  SecretsPepper: { pepper: PEPPER },
  SecretsMailKey: { mail_key: MAIL_KEY },
  SecretsFactorKey: { factor_key: FACTOR_KEY },
}

/** The beginning of the id of the secret that an operator fills in. Here it has the local cache's address. */
export const CACHE_SECRET = 'SecretsCache'

/** Maps Lambda's folders to this machine's: instances are processes without a container. */
export const placedAt = ({ bundle, caFile }: { bundle: string; caFile: string }): ReadonlyMap<string, string> =>
  new Map([
    ['/var/task', bundle],
    // Amazon's certificate authorities did not sign the certificate of a server on this machine.
    ['/var/runtime/ca-cert.pem', caFile],
  ])

/** The maximum of instances per function. A stage would start more. */
export const MOST_INSTANCES = 4

// Further differences: each test file has its own copy of the deployed database, under another name; an invoked job is
// recorded and runs only when a test runs it; schedules do not run; the gateway neither throttles nor filters; Postgres
// accepts connections without TLS, which rds.force_ssl would refuse; X-Ray is missing.
