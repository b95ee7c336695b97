import { ipHash, type AuditContext } from '#shared/audit/record-audit.ts'
import type { Sql } from '#shared/db/connect.ts'
import type { SessionTransaction } from '#shared/db/scope.ts'
import type { Session } from '#shared/session/session.ts'
import type { Tenant, TenantStatus } from '#shared/tenant/tenant.ts'
import type { User } from '#shared/user/user.ts'

export interface UserCredentials extends User {
  readonly password_hash: string | null
  readonly disabled_at: Date | null
}

/** The account with this address, whatever the case of its letters. */
export async function findUserCredentials(sql: Sql, email: string): Promise<UserCredentials | null> {
  const [account] = await sql<UserCredentials>`
    select id, email, email_verified_at, full_name, avatar_url, password_hash, disabled_at
      from app.users where email = ${email}`
  return account ?? null
}

/** Notes a failed sign-in where the account is known; the same statement where it is not, and nothing written. */
export async function recordFailedSignIn(
  sql: Sql,
  { userId, requestId, ipHash }: { userId: string | null; requestId: string; ipHash: Buffer },
): Promise<void> {
  await sql`select app.record_failed_sign_in(${userId}, ${requestId}, ${ipHash})`
}

export interface NewSession {
  readonly userId: string
  readonly verifiedHash: string
  readonly newHash: string
  readonly hashToken: Buffer
  readonly csrfSecret: Buffer
  readonly ipHash: Buffer
  readonly userAgent: string | null
  readonly pendingSeconds: number
  readonly absoluteSeconds: number
}

/**
 * Mints a session without a tenant, and null when the account was disabled or its password changed since the password
 * was verified: the hash that was verified must still be the account's.
 */
export async function mintSession(sql: Sql, session: NewSession): Promise<Session | null> {
  const [row] = await sql<Session>`
    with signed_in as (
      update app.users set last_login_at = now(), password_hash = ${session.newHash}
       where id = ${session.userId} and disabled_at is null and password_hash = ${session.verifiedHash}
      returning id
    )
    insert into app.sessions
      (token_key, user_id, csrf_secret, ip_hash, user_agent, idle_expires_at, absolute_expires_at)
    select ${session.hashToken}, id, ${session.csrfSecret}, ${session.ipHash}, ${session.userAgent},
           now() + make_interval(secs => least(${session.pendingSeconds}::int, ${session.absoluteSeconds}::int)),
           now() + make_interval(secs => ${session.absoluteSeconds}::int)
      from signed_in
    returning id, idle_expires_at, absolute_expires_at`
  return row ?? null
}

export interface TenantOption {
  readonly membership_id: string
  readonly tenant_id: string
  readonly slug: string
  readonly legal_name: string
  readonly status: TenantStatus
  readonly role_code: string
  readonly role_label: string
  readonly role_rank: number
}

export const listTenants = (sql: Sql, sessionId: string): Promise<TenantOption[]> =>
  sql<TenantOption>`select * from app.tenants_of_session(${sessionId})`

export interface SessionRow extends Omit<Tenant, 'id'> {
  readonly id: string
  readonly user_agent: string | null
  readonly created_at: Date
  readonly last_seen_at: Date
  readonly tenant_id: string | null
}

export const listSessions = (sql: Sql, sessionId: string): Promise<SessionRow[]> =>
  sql<SessionRow>`select * from app.sessions_of_session(${sessionId})`

/**
 * Ends the live session of this id, or with `others` every other one of the user, once the writes under way have ended.
 * Notes each in the log of the shop that it acted for. How many were live.
 */
export async function endSessions(
  sql: SessionTransaction,
  { client, requestId, runtime }: AuditContext,
  ending: { userId: string; sessionId: string; others: boolean; action: 'session.signed_out' | 'session.revoked' },
): Promise<number> {
  const { userId, sessionId, others, action } = ending
  const [row] = await sql<{ ended: number }>`
    select app.end_sessions(${userId}, ${sessionId}, ${others}, ${action}, ${requestId}, ${ipHash(runtime, client)}) as ended`
  return row?.ended ?? 0
}

/**
 * What goes with a new password: ends every session of the user but the one that set it, if one did, and notes each in
 * the log of its shop, and the password in the logs of all shops that the person works in.
 */
export async function endSessionsByPassword(
  sql: Sql,
  { client, requestId, runtime }: AuditContext,
  ending: { userId: string; setBy: string | null; action: 'user.password_changed' | 'user.password_reset' },
): Promise<void> {
  const { userId, setBy, action } = ending
  const hash = ipHash(runtime, client)
  await sql`
    select app.end_sessions(${userId}, ${setBy}, true, 'session.revoked', ${requestId}, ${hash}),
           app.record_own_change(${userId}, ${action}, ${requestId}, ${hash})`
}

/** Replaces the user's password. Returns false when the verified hash is no longer the account's. */
export async function replacePassword(
  sql: SessionTransaction,
  { userId, verifiedHash, newHash }: { userId: string; verifiedHash: string; newHash: string },
): Promise<boolean> {
  const changed = await sql`
    update app.users set password_hash = ${newHash}
     where id = ${userId} and password_hash = ${verifiedHash} and disabled_at is null
    returning id`
  return changed.length > 0
}
