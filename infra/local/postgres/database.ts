import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import type { Login } from '#shared/db/login.ts'
import { migrate } from '#shared/db/migrate.ts'
import { loginName } from '#shared/db/role-settings.ts'
import { SERVICE_ROLES, type ServiceRole } from '#shared/base/needs.ts'

/** The folder of the migrations. */
export const MIGRATIONS = fileURLToPath(new URL('../../../migrations/', import.meta.url))

/** The URLs of a prepared database: of the superuser, and of each role of the service. */
export interface PreparedDatabase {
  readonly databaseUrl: string
  readonly urls: Readonly<Record<ServiceRole, string>>
  /** The migrations applied by this call. */
  readonly applied: readonly string[]
}

/**
 * Creates the database if it does not exist, migrates it, and gives the service's roles a password. `adminUrl` is the URL
 * of a superuser. Sets search_path to the service's schema for every login.
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
    const { applied } = await migrate(databaseUrl, MIGRATIONS)
    // ALTER ROLE takes no parameters; format() quotes the literal.
    for (const role of SERVICE_ROLES.map(loginName)) {
      const [statement] = await admin<{ text: string }[]>`
        select format('alter role %I password %L', ${role}::text, ${rolePassword}::text) as text`
      await admin.unsafe(statement?.text ?? '')
    }
    return {
      databaseUrl,
      urls: forEachRole((role) => urlFor(databaseUrl, { user: loginName(role), password: rolePassword })),
      applied,
    }
  } finally {
    await admin.end()
  }
}

/** Returns a value for each role of the service. */
export const forEachRole = <T>(value: (role: ServiceRole) => T): Readonly<Record<ServiceRole, T>> =>
  Object.fromEntries(SERVICE_ROLES.map((role) => [role, value(role)])) as Record<ServiceRole, T>

/** Returns the content of a role's secret for a login given as a URL. */
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

/** Returns the URL with another database, login or address. */
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
