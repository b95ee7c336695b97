import type { SecureContext } from 'node:tls'
import postgres from 'postgres'
import { errorCode, INVALID_PASSWORD } from '#shared/db/failure.ts'
import { clientOptions, type Login } from '#shared/db/login.ts'

/** Options of a connection outside of a pool, which does one thing and is closed. */
export const QUIET = { max: 1, fetch_types: false, connect_timeout: 10, onnotice: () => {} }

/** Runs `work` on a connection of this login, and closes it. */
export async function connected<T>(
  login: Login,
  trust: SecureContext | null,
  work: (sql: postgres.Sql) => Promise<T>,
): Promise<T> {
  const sql = postgres({ ...clientOptions(login, trust), ...QUIET })
  try {
    return await work(sql)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

/** Runs `work` on a connection of this login, and closes it. Returns false when the server refuses the password. */
export async function signIn(
  login: Login,
  trust: SecureContext | null,
  work: (sql: postgres.Sql) => Promise<unknown> = (sql) => sql`select`,
): Promise<boolean> {
  try {
    await connected(login, trust, work)
    return true
  } catch (error) {
    if (errorCode(error) === INVALID_PASSWORD) return false
    throw error
  }
}
