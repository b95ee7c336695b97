import { SERVICE_ROLES, type ServiceRole } from '#shared/base/needs.ts'

type Settings = Readonly<Record<string, string>>

// That of the functions. Postgres plans a function's statements again when its caller's path is not that of the last call, and
// app.current_tenant is called by functions and by policies (infra/history.md, 103).
const SEARCH_PATH = 'pg_catalog, pg_temp'

const INTERACTIVE: Settings = {
  statement_timeout: '2s',
  lock_timeout: '1500ms',
  idle_in_transaction_session_timeout: '10s',
  search_path: SEARCH_PATH,
}

// A lock is given up before the client gives up its connection, so that the caller learns what it waited for and may try again.
const JOBS: Settings = {
  statement_timeout: '30s',
  lock_timeout: '2s',
  idle_in_transaction_session_timeout: '60s',
  search_path: SEARCH_PATH,
}

/** The name of a service role in the database. */
export const loginName = (role: ServiceRole): string => `identity_${role}`

/** The settings of each service role: its defaults in migration 0001, and no others. The doctor compares both. */
export const ROLE_SETTINGS: Readonly<Record<ServiceRole, Settings>> = {
  auth: INTERACTIVE,
  app: INTERACTIVE,
  services: INTERACTIVE,
  mailer: JOBS,
  worker: JOBS,
  publisher: JOBS,
  opener: INTERACTIVE,
  operator: JOBS,
  vault: INTERACTIVE,
}

/**
 * Returns what a connection of this login sends at its start. It wins over the defaults of the role, which every role may
 * change for itself. Nothing for a login that is no service role.
 */
export function startupSettings(username: string): Settings {
  const role = SERVICE_ROLES.find((name) => loginName(name) === username)
  if (role === undefined) return {}
  // A blank is no library. The driver does not send an empty text.
  const none = { local_preload_libraries: ' ' }
  return { ...ROLE_SETTINGS[role], row_security: 'on', default_transaction_read_only: 'off', ...none }
}
