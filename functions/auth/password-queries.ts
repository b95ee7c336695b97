import { ipHash, type AuditContext } from '#shared/audit/record-audit.ts'
import type { Sql } from '#shared/db/connect.ts'
import type { SessionTransaction } from '#shared/db/scope.ts'
import type { TokenHashes } from '#shared/secret/secret.ts'
import type { Principal } from '#shared/session/session.ts'
import type { User } from '#shared/user/user.ts'

export interface UserCredentials extends User {
  readonly password_hash: string | null
  readonly disabled_at: Date | null
}

/** Returns the user with this address, regardless of case, or null. */
export async function findUserCredentials(sql: Sql, email: string): Promise<UserCredentials | null> {
  const [user] = await sql<UserCredentials>`
    select id, email, email_verified_at, full_name, avatar_url, password_hash, disabled_at
      from app.users where email = ${email}`
  return user ?? null
}

/**
 * Replaces the user's password, and voids the password resets requested so far. Returns false when the verified hash is no
 * longer the user's.
 */
export async function replacePassword(
  sql: SessionTransaction,
  { userId, verifiedHash, newHash }: { userId: string; verifiedHash: string; newHash: string },
): Promise<boolean> {
  const changed = await sql`
    update app.users set password_hash = ${newHash}, resets_valid_from = clock_timestamp()
     where id = ${userId} and password_hash = ${verifiedHash} and disabled_at is null
    returning id`
  return changed.length > 0
}

/** Returns the slugs and names of all tenants of the user whom a reset token is for. */
export async function findTenantNames(sql: Sql, [current, previous]: TokenHashes): Promise<string[]> {
  const tenants = await sql<{ slug: string; legal_name: string }>`
    select * from app.tenants_of_reset(${current}, ${previous})`
  return tenants.flatMap(({ slug, legal_name }) => [slug, legal_name])
}

/**
 * Sets a password by a consumed reset token. This also verifies the address and voids the other password resets requested
 * so far. Returns false when the user is disabled. The caller ends the sessions.
 */
export async function resetPassword(sql: Sql, userId: string, hash: string): Promise<boolean> {
  const changed = await sql`
    update app.users
       set password_hash = ${hash}, email_verified_at = coalesce(email_verified_at, now()),
           resets_valid_from = clock_timestamp()
     where id = ${userId} and disabled_at is null
    returning id`
  return changed.length > 0
}

/**
 * Ends every other session of the principal. Records each in the audit log of its tenant, and the new password in the audit
 * logs of all tenants of the user.
 */
export async function recordPasswordChange(
  sql: SessionTransaction,
  { client, requestId, runtime, principal }: AuditContext & { readonly principal: Principal },
): Promise<void> {
  await principal.ticket.present(
    (bytes) =>
      sql`select app.record_password_change(${bytes}, ${requestId}, ${client.requestId}, ${ipHash(runtime, client)})`,
  )
}

/** Does the same after a reset, and ends every session. Requires that this transaction consumed the token. */
export async function recordPasswordReset(
  sql: Sql,
  { client, requestId, runtime }: AuditContext,
  [current, previous]: TokenHashes,
): Promise<void> {
  await sql`
    select app.record_password_reset(${current}, ${previous}, ${requestId}, ${client.requestId}, ${ipHash(runtime, client)})`
}
