import { type AuditContext, requestSource } from '#shared/audit/record-audit.ts'
import { limitValue, sourceValue } from '#shared/db/composite.ts'
import type { RequestSource } from '#shared/schema/client.ts'
import type { TicketRun } from '#shared/db/calls.ts'
import type { Call } from '#shared/db/connect.ts'
import type { SessionTransaction } from '#shared/db/scope.ts'
import { deviceOf } from '#shared/schema/device.ts'
import type { Language } from '#shared/schema/language.ts'
import type { AttemptOutcome, Limit, Taken } from '#shared/rate-limit/limit.ts'
import { END, type Key, type ListRow } from '#shared/schema/page.ts'
import type { TokenHashes } from '#shared/secret/secret.ts'
import type { CsrfSecret } from '#shared/identity/csrf-secret.ts'
import type { FactorMethod } from './factor.ts'
import { type LiveSessionRow, sessionOf, userOf } from '#shared/identity/session-queries.ts'
import type { SessionPrincipal, Session } from '#shared/identity/session.ts'
import type { Ticket } from '#shared/identity/ticket.ts'
import type { User } from '#shared/identity/user.ts'
import type { Tenant, TenantStatus } from '#shared/identity/tenant.ts'

/** What a user signs in with, and the session to create. */
export interface SignIn {
  readonly email: string
  readonly digest: Buffer
  readonly tokenHash: Buffer
  readonly csrfSecret: CsrfSecret
  readonly networkKey: Buffer
  readonly deviceKey: Buffer
  readonly userAgent: string | null
  readonly pendingSeconds: number
  readonly absoluteSeconds: number
  /** How many live sessions the user may have, with this one. The longest unused ones above that end. */
  readonly maxPerUser: number
  /** The hashes of the session token that the client sent. A sign-in ends that session. */
  readonly sentHashes: TokenHashes | null
  /** The limit that counts the attempt if it fails. */
  readonly failures: Limit
  /** What the attempt took of its limits. Only a failure keeps it. */
  readonly taken: Taken
  readonly source: Required<RequestSource>
}

/** The row of an open sign-in, or of nulls. */
interface OpenSignInRow {
  readonly session_id: null
  readonly absolute_expires_at: string
  readonly methods: readonly FactorMethod[] | null
}

/** The outcome of a sign-in. `committed` resolves after the commit, which the outcome does not wait for. */
type SignedIn = { readonly committed: Promise<void> } & (
  | { readonly outcome: 'succeeded'; readonly session: Session; readonly user: User }
  | { readonly outcome: 'owed'; readonly expiresAt: string; readonly methods: readonly FactorMethod[] }
  | { readonly outcome: Exclude<AttemptOutcome, 'succeeded'> }
)

/**
 * Creates a session without a tenant when the digest is the one of the user's password, and returns both. The network and the
 * device become known ones of the user: when neither was, they get a mail. A user with a second factor gets an open sign-in under
 * that token instead, which has no effect of a sign-in. Otherwise counts and records a failed sign-in, which the job `audit-sign-ins` moves to the audit
 * log of each of the user's tenants. It does the same work without a user, and for a user of many tenants, so that response time
 * reveals neither.
 */
export async function signIn(call: Pick<Call, 'committing'>, given: SignIn): Promise<SignedIn> {
  const [sent, sentPrevious] = given.sentHashes ?? [null, null]
  const { rows, committed } = given.csrfSecret.present(
    (csrf) => call.committing<LiveSessionRow | OpenSignInRow>`
    select * from app.sign_in(
      ${given.email}, ${given.digest}, ${given.tokenHash}, ${csrf}, ${given.networkKey}, ${given.userAgent},
      ${given.pendingSeconds}, ${given.absoluteSeconds}, ${given.maxPerUser}, ${sourceValue(given.source)}::app.source,
      ${sent}, ${sentPrevious}, ${limitValue(given.failures)}::app.limit, ${given.failures.partOf ?? null},
      ${given.taken.inDatabase}::text::jsonb, string_to_array(${given.taken.inCache.join()}, ','), ${given.deviceKey},
      ${JSON.stringify(deviceOf(given.userAgent))}::text::jsonb)`,
  )
  const [row] = await rows
  if (row === undefined) return { outcome: 'failed', committed }
  if (row.session_id === null)
    return row.methods === null
      ? { outcome: 'refused', committed }
      : { outcome: 'owed', expiresAt: row.absolute_expires_at, methods: row.methods, committed }
  return { outcome: 'succeeded', session: sessionOf(row), user: userOf(row), committed }
}

/** A tenant of the user. A suspended one cannot be selected. */
export interface TenantOption {
  readonly membership_id: string
  readonly tenant_id: string
  readonly slug: string
  readonly legal_name: string
  readonly status: TenantStatus
  readonly role_code: string
  readonly role_label: string
  readonly role_rank: number
  readonly selected_at: string | null
  /** From when on the tenant asks the role for a second factor. */
  readonly second_factor_from: string | null
  /** Whether this session has proven one. */
  readonly is_two_factor: boolean
  readonly timezone: string
}

export const listTenants = (call: TicketRun, ticket: Ticket): Promise<TenantOption[]> =>
  ticket.present((bytes) => call<TenantOption>`select * from app.tenants_of_session(${bytes})`)

/**
 * Ends the membership of the session's user in a tenant, their sessions in it, records both, and mails the owners. Returns false when they are no member.
 * Rejects with the PostgresError TN401 when the session is no longer live, TN428 when it has not stepped up in the last `stepUpSeconds`, and TN409 for the last owner.
 */
export async function leaveTenant(
  call: TicketRun,
  {
    principal: { ticket },
    tenantId,
    source,
    stepUpSeconds,
  }: { principal: SessionPrincipal; tenantId: string; source: Required<RequestSource>; stepUpSeconds: number },
): Promise<boolean> {
  const [row] = await ticket.present(
    (bytes) => call<{ left: boolean }>`
      select app.leave_tenant(${bytes}, ${tenantId}, ${sourceValue(source)}::app.source, ${stepUpSeconds}) as left`,
  )
  return row?.left ?? false
}

export interface SessionRow extends Omit<Tenant, 'id'> {
  readonly id: string
  readonly user_agent: string | null
  readonly created_at: string
  readonly last_seen_at: string
  readonly second_factor: boolean
  readonly tenant_id: string | null
}

/** Returns the live sessions of the session's user, the newest first: up to `limit` + 1 of them. */
export async function listSessions(
  call: TicketRun,
  ticket: Ticket,
  { limit, before }: { limit: number; before: Key | null },
): Promise<ListRow<SessionRow>[]> {
  const [createdBefore, idBefore] = before ?? END
  const rows = await ticket.present(
    (bytes) => call<SessionRow & { readonly sort_key: string }>`
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
  { client, requestId, runtime, principal }: AuditContext & { readonly principal: SessionPrincipal },
  { sessionId, action }: { sessionId: string | null; action: 'session.signed_out' | 'session.revoked' },
): Promise<number> {
  const [row] = await principal.ticket.present(
    (bytes) => sql<{ ended: number }>`
      select app.end_sessions(${bytes}, ${sessionId}, ${action},
                              ${sourceValue(requestSource({ client, requestId, runtime }))}::app.source) as ended`,
  )
  return row?.ended ?? 0
}

export const changeLanguage = (sql: SessionTransaction, ticket: Ticket, language: Language): Promise<unknown> =>
  ticket.present((bytes) => sql`select app.change_language(${bytes}, ${language})`)
