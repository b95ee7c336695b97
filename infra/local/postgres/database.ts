import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import type { Login } from '#shared/db/login.ts'
import { migrate } from '#shared/db/migrate.ts'

/** Where the migrations are. */
export const MIGRATIONS = fileURLToPath(new URL('../../../migrations/', import.meta.url))

/** The URLs of a prepared database: as its superuser, as the Lambdas' role, the jobs', the operators' and the vault's. */
export interface PreparedDatabase {
  readonly databaseUrl: string
  readonly appUrl: string
  readonly workerUrl: string
  readonly operatorUrl: string
  readonly vaultUrl: string
  /** The migrations that were applied now. */
  readonly applied: readonly string[]
}

/**
 * Creates a database if there is none of this name, migrates it, and lets the service's roles log in with a password.
 * `adminUrl` is a superuser's. Unqualified names resolve to the service's schema for every login.
 */
export async function prepareDatabase(
  adminUrl: string,
  { name, rolePassword }: { name: string; rolePassword: string },
): Promise<PreparedDatabase> {
  const admin = postgres(adminUrl, { max: 1, onnotice: () => {} })
  try {
    const [existing] = await admin`select from pg_database where datname = ${name}`
    if (existing === undefined) await admin`create database ${admin(name)}`
    await admin`alter database ${admin(name)} set search_path = app, public`
    const databaseUrl = urlFor(adminUrl, { database: name })
    const applied = await migrate(databaseUrl, MIGRATIONS)
    // ALTER ROLE takes no parameters; format() quotes the literal.
    for (const role of ['identity_app', 'identity_worker', 'identity_operator', 'identity_vault']) {
      const [statement] = await admin<{ text: string }[]>`
        select format('alter role %I password %L', ${role}::text, ${rolePassword}::text) as text`
      await admin.unsafe(statement?.text ?? '')
    }
    return {
      databaseUrl,
      appUrl: urlFor(databaseUrl, { user: 'identity_app', password: rolePassword }),
      workerUrl: urlFor(databaseUrl, { user: 'identity_worker', password: rolePassword }),
      operatorUrl: urlFor(databaseUrl, { user: 'identity_operator', password: rolePassword }),
      vaultUrl: urlFor(databaseUrl, { user: 'identity_vault', password: rolePassword }),
      applied,
    }
  } finally {
    await admin.end()
  }
}

/** What a role's secret holds, for a login given as a URL. */
export function loginOf(url: string): Login {
  const { hostname, port, pathname, username, password } = new URL(url)
  return {
    host: hostname,
    port: Number(port || 5432),
    dbname: pathname.slice(1),
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
  }
}

/** The same server, with another database or login. */
export function urlFor(
  base: string,
  change: { database?: string; user?: string; password?: string; hostname?: string; port?: number },
): string {
  const url = new URL(base)
  if (change.database !== undefined) url.pathname = `/${change.database}`
  if (change.user !== undefined) url.username = change.user
  if (change.password !== undefined) url.password = encodeURIComponent(change.password)
  if (change.hostname !== undefined) url.hostname = change.hostname
  if (change.port !== undefined) url.port = String(change.port)
  return url.href
}
