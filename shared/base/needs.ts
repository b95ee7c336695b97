/**
 * The login roles of the database: of the group that signs users in, the other route groups, the group for other services,
 * the mailer, the other jobs, the publisher of events, the opener of vendor secrets, the operators and the vault. Each is named
 * `identity_NAME` in the migrations.
 */
export const SERVICE_ROLES = [
  'auth',
  'app',
  'services',
  'mailer',
  'worker',
  'publisher',
  'opener',
  'operator',
  'vault',
] as const

export type ServiceRole = (typeof SERVICE_ROLES)[number]

/** The logins: those of the service, and the owner that migrates. */
export type DatabaseRole = ServiceRole | 'owner'

/** The jobs that other functions may invoke. */
export const INVOKED_JOBS = ['deliver-mail', 'publish-events', 'sync-catalog'] as const

export type InvokedJob = (typeof INVOKED_JOBS)[number]

/**
 * What a function may reach outside its own code. Its environment, its grants and its runtime follow from its needs: code
 * that uses what its needs do not name does not compile.
 *
 *   database        an endpoint: connects as the role of its route group
 *   database:ROLE   connects as that role (DATABASE_SECRET_ID)
 *   role-passwords  reads the secrets of all roles (ROLE_SECRET_IDS)
 *   password-rotation  reads and replaces the secrets of all logins, and signs in as each
 *   migrations      the SQL files of its release (MIGRATIONS_FOLDER), which it runs or compares
 *   cache           the cache of the rate limits (CACHE_SECRET_ID); they are counted in the database too
 *   pepper          the pepper (PEPPER_SECRET_ID), which finds sessions and tokens
 *   mail-key        the mail key (MAIL_KEY_SECRET_ID), which makes single-use tokens
 *   factor-key      the factor key (FACTOR_KEY_SECRET_ID), which seals second factors and proves them to the database
 *   web-key         the web key (WEB_KEY_SECRET_ID), which protects the forms of the front end before the sign-in
 *   vault           encrypts and decrypts with the KMS key (VAULT_KEY_ID), as identity_vault (VAULT_DATABASE_SECRET_ID)
 *   decrypt         decrypts data keys with the KMS key; the vault can do that too
 *   mail            sends mail
 *   event-bus       puts events on the bus of the stage (EVENT_BUS_NAME)
 *   probe-user      the credentials of the user that probes the API (PROBE_SECRET_ID)
 *   suppressions    removes addresses from the list to which SES sends nothing
 *   invoke:JOB      invokes a job after a commit
 */
export type Need =
  | 'database'
  | `database:${DatabaseRole}`
  | 'role-passwords'
  | 'password-rotation'
  | 'migrations'
  | 'cache'
  | 'pepper'
  | 'mail-key'
  | 'factor-key'
  | 'web-key'
  | 'vault'
  | 'decrypt'
  | 'mail'
  | 'event-bus'
  | 'probe-user'
  | 'suppressions'
  | `invoke:${InvokedJob}`

/** Returns the role that a function with these needs connects as, or null when it does not connect. Throws when there are two. */
export function databaseRole(needs: readonly Need[]): DatabaseRole | null {
  const [role, second] = ([...SERVICE_ROLES, 'owner'] as const).filter((name) => needs.includes(`database:${name}`))
  if (second !== undefined) throw new Error('a function connects as one role')
  return role ?? null
}
