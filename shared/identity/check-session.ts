import type { Config } from '#shared/base/config.ts'
import type { Database } from '#shared/db/connect.ts'
import type { Run } from '#shared/db/run.ts'
import { forbidden, Problem } from '#shared/base/problem.ts'
import { holds, type Permission } from '#shared/identity/permissions.ts'
import { isApiKey } from '#shared/secret/api-key.ts'
import { TOKEN_PATTERN, type TokenHashes, tokenHashes } from '#shared/secret/secret.ts'
import type { Pepper } from '#shared/secret/token-secrets.ts'
import type { ActingPrincipal, Principal, SessionPrincipal } from '#shared/identity/session.ts'

/** Why a request gets a 401. */
export interface Unauthenticated {
  readonly cause: 'absent' | 'malformed' | 'unknown'
  readonly reason: string
  /** The request carried a bearer token, which was refused. */
  readonly tokenSent: boolean
}

/** A well-formed credential that nobody has checked. */
export type SentCredential =
  | { readonly kind: 'session'; readonly token: string }
  | { readonly kind: 'key'; readonly token: string }

/** Returns the well-formed session token or API key of a request with these values of `Authorization`, or why it has none. */
export function sentCredential(credentials: readonly string[]): SentCredential | Unauthenticated {
  // https://www.rfc-editor.org/rfc/rfc9110#section-11.4: one or more spaces after the scheme.
  const [, scheme = '', token = ''] = /^([^ ]*) *(.*)$/.exec(credentials[0] ?? '') ?? []
  if (credentials.length === 0) return { cause: 'absent', reason: 'no credentials', tokenSent: false }
  if (scheme.toLowerCase() !== 'bearer') return { cause: 'malformed', reason: 'not a bearer token', tokenSent: false }
  if (credentials.length === 1 && TOKEN_PATTERN.test(token)) return { kind: 'session', token }
  if (credentials.length === 1 && isApiKey(token)) return { kind: 'key', token }
  return { cause: 'malformed', reason: 'malformed token', tokenSent: true }
}

/** Resolves a token to its principal by this statement, or returns why it is refused. */
export async function checkSession<Found extends SessionPrincipal>(
  runtime: { readonly database: Database; readonly config: Config } & Pepper,
  token: string,
  find: (sql: Run, hashes: TokenHashes, settings: Config['session']) => Promise<Found | null>,
): Promise<Found | Unauthenticated> {
  const { database, config } = runtime
  const principal = await find(database.call.repeatable, tokenHashes(runtime, token), config.session)
  return principal ?? { cause: 'unknown', reason: 'no live session has this token', tokenSent: true }
}

/**
 * Requires a selected tenant, and a role there, or a key, that holds the permission. Null requires no permission: every member of
 * the tenant may. Throws the 403.
 */
export function requireTenant<Found extends Principal>(
  principal: Found | null,
  permission: Permission | null,
): asserts principal is Found & ActingPrincipal {
  if (principal === null || principal.tenant === null) throw new Problem('tenant-not-selected')
  if (permission !== null && !holds(principal.permissions, permission))
    throw forbidden(`the ${principal.kind === 'key' ? 'key' : 'role'} does not hold the permission`)
}
