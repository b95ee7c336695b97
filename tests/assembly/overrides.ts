import { MAIL_KEY, PEPPER, TEST_SETTINGS } from '#tests/support/settings.ts'

// Everything in which the assembly under test differs from what its template says, and why. What is not here is resolved
// from the template, and what cannot be resolved stops the start.

/** Settings that the template leaves to their defaults. A test's own settings come on top. */
export const ADDED_SETTINGS: Readonly<Record<string, string>> = {
  // The tests hash hundreds of passwords, and sign in thousands of times from one address.
  ...TEST_SETTINGS,
}

/** Settings that are other ones here. One that the template does not set is none of a function's. */
export const REPLACED_SETTINGS = [
  // The vendors' own systems take no part in tests: the local ones do.
  'VENDOR_URLS',
] as const

/** Fields of secrets, by what a secret's id begins with. A field that the template does not make is refused. */
export const SECRET_FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  // The tests mint sessions and read single-use tokens by themselves.
  SecretsService: { pepper: PEPPER, mail_key: MAIL_KEY },
}

/** What the id of the secret begins with that an operator fills in: here it names the local cache. */
export const CACHE_SECRET = 'SecretsCache'

/** Folders of Lambda's own, where they are here: instances are no containers, and so see the machine's paths. */
export const placedAt = ({ bundle, caFile }: { bundle: string; caFile: string }): ReadonlyMap<string, string> =>
  new Map([
    ['/var/task', bundle],
    // Amazon's certificate authorities did not sign the certificate of a server on this machine.
    ['/var/runtime/ca-cert.pem', caFile],
  ])

/** A burst of requests is served by so many instances of a function, also where the stage would start more. */
export const MOST_INSTANCES = 4

// Beside those: each test file has a copy of the deployed database, under another name; a job that is woken is noted, and
// runs when a test says so; schedules do not run; the gateway neither throttles nor filters; Postgres
// encrypts for who asks for it, and rds.force_ssl would refuse all others; X-Ray is not there.
