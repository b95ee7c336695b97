import { type AuditContext, ipHash } from '#shared/audit/record-audit.ts'
import type { RequestSource } from '#shared/schema/client.ts'
import type { Sql } from '#shared/db/connect.ts'
import type { SessionTransaction } from '#shared/db/scope.ts'
import { END, type Key, type ListRow } from '#shared/schema/page.ts'
import type { Principal, Session } from '#shared/session/session.ts'
import type { Ticket } from '#shared/session/ticket.ts'
import type { Tenant, TenantStatus } from '#shared/tenant/tenant.ts'

/**
 * Records a failed sign-in, which the job `audit-sign-ins` moves to the audit log of each of the user's tenants. It does the
 * same work without a user, and for a user of many tenants, so that response time reveals neither.
 */
export async function recordFailedSignIn(
  sql: Sql,
  userId: string | null,
  { requestId, clientRequestId, ipHash: hash }: Required<RequestSource>,
): Promise<void> {
  await sql`select app.record_failed_sign_in(${userId}, ${requestId}, ${clientRequestId}, ${hash})`
}

export interface NewSession {
  readonly userId: string
  readonly verifiedHash: string
  readonly newHash: string
  readonly tokenHash: Buffer
  readonly csrfSecret: Buffer
  readonly networkKey: Buffer
  readonly userAgent: string | null
  readonly pendingSeconds: number
  readonly absoluteSeconds: number
  /** How many live sessions the user may have, with this one. The longest unused ones above that end. */
  readonly maxPerUser: number
  readonly source: Required<RequestSource>
}

/**
 * Creates a session without a tenant. Returns null when the user was disabled or the password changed after it was
 * verified: the verified hash must still be the user's. The network becomes a known one of the user.
 */
export async function mintSession(sql: Sql, session: NewSession): Promise<Session | null> {
  const { requestId, clientRequestId, ipHash: hash } = session.source
  const [row] = await sql<Session>`
    with signed_in as (
      update app.users set last_login_at = now(), password_hash = ${session.newHash}
       where id = ${session.userId} and disabled_at is null and password_hash = ${session.verifiedHash}
      -- Runs under the lock of the user's row and sees what was committed before: sign-ins of one user take turns.
      returning id, app.end_unused_sessions(id, ${session.maxPerUser - 1}, ${requestId}, ${clientRequestId}, ${hash})
    ), known as (
      insert into app.known_networks (key) select ${session.networkKey} from signed_in
          on conflict (key) do update set seen_at = now()
    )
    insert into app.sessions
      (token_key, user_id, csrf_secret, ip_hash, user_agent, idle_expires_at, absolute_expires_at)
    select ${session.tokenHash}, id, ${session.csrfSecret}, ${hash}, ${session.userAgent},
           now() + make_interval(secs => least(${session.pendingSeconds}::int, ${session.absoluteSeconds}::int)),
           now() + make_interval(secs => ${session.absoluteSeconds}::int)
      from signed_in
    returning id, idle_expires_at, absolute_expires_at`
  return row ?? null
}

/** A tenant that the user may select. */
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

export const listTenants = (sql: Sql, ticket: Ticket): Promise<TenantOption[]> =>
  ticket.present((bytes) => sql<TenantOption>`select * from app.tenants_of_session(${bytes})`)

export interface SessionRow extends Omit<Tenant, 'id'> {
  readonly id: string
  readonly user_agent: string | null
  readonly created_at: Date
  readonly last_seen_at: Date
  readonly tenant_id: string | null
}

/** Returns the live sessions of the session's user, the newest first: up to `limit` + 1 of them. */
export async function listSessions(
  sql: Sql,
  ticket: Ticket,
  { limit, before }: { limit: number; before: Key | null },
): Promise<ListRow<SessionRow>[]> {
  const [createdBefore, idBefore] = before ?? END
  const rows = await ticket.present(
    (bytes) => sql<SessionRow & { readonly sort_key: string }>`
      select s.*, to_json(s.created_at) as sort_key
        from app.sessions_of_session(${bytes}, ${createdBefore}::text::timestamptz, ${idBefore}, ${limit + 1}) s`,
  )
  return rows.map(({ sort_key, ...item }) => ({ item, key: [sort_key, item.id] }))
}

/**
 * Ends a live session of the user or, without an id, every session but the principal's. Waits for the user's writes in
 * progress. Records each in the audit log of its tenant. Returns how many were live.
 */
export async function endSessions(
  sql: SessionTransaction,
  { client, requestId, runtime, principal }: AuditContext & { readonly principal: Principal },
  { sessionId, action }: { sessionId: string | null; action: 'session.signed_out' | 'session.revoked' },
): Promise<number> {
  const [row] = await principal.ticket.present(
    (bytes) => sql<{ ended: number }>`
      select app.end_sessions(${bytes}, ${sessionId}, ${action},
                              ${requestId}, ${client.requestId}, ${ipHash(runtime, client)}) as ended`,
  )
  return row?.ended ?? 0
}
