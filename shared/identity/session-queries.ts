import type { Config } from '#shared/base/config.ts'
import { sourceValue } from '#shared/db/composite.ts'
import type { RequestSource } from '#shared/schema/client.ts'
import type { TicketRun } from '#shared/db/calls.ts'
import type { Run } from '#shared/db/run.ts'
import { CsrfSecret } from '#shared/identity/csrf-secret.ts'
import { askedFactor } from '#shared/identity/asked-factor.ts'
import type { TokenHashes } from '#shared/secret/secret.ts'
import type { Session, SessionPrincipal } from '#shared/identity/session.ts'
import { Ticket } from '#shared/identity/ticket.ts'
import type { Tenant } from '#shared/identity/tenant.ts'
import type { OwnUser, User } from '#shared/identity/user.ts'

/** A row of app.live_sessions. The functions that find or create a session return one. */
export interface LiveSessionRow extends Omit<Session, 'id'>, Omit<OwnUser, 'id'>, Omit<Tenant, 'id'> {
  readonly session_id: string
  readonly signed_in_at: string
  readonly user_id: string
  readonly tenant_id: string | null
  readonly membership_id: string
  readonly role_id: number
  readonly role_code: string
  readonly role_label: string
  readonly role_rank: number
  readonly permissions: string[]
  /** From when on the tenant asks the role for a second factor. */
  readonly second_factor_from: string | null
  readonly csrf_secret: Uint8Array
}

/** The row of a session that was checked. */
interface CheckedSessionRow extends LiveSessionRow {
  readonly ticket: Uint8Array
}

/**
 * Returns the principal of a session token, or null when the session is not live. Moves the session's idle expiry forward if
 * it was last seen `slideStepSeconds` ago or earlier. It is one statement, also during a rotation of the pepper: it tries the previous hash only when the current
 * one finds nothing.
 */
export async function authenticate(
  sql: Run,
  [current, previous]: TokenHashes,
  { idleSeconds, slideStepSeconds }: Pick<Config['session'], 'idleSeconds' | 'slideStepSeconds'>,
): Promise<SessionPrincipal | null> {
  const step = slideStep(idleSeconds, slideStepSeconds)
  const [row] =
    previous === null
      ? await sql<CheckedSessionRow>`select * from app.authenticate(${current}, ${idleSeconds}, ${step})`
      : await sql<CheckedSessionRow>`
          with found as materialized (select * from app.authenticate(${current}, ${idleSeconds}, ${step}))
          select * from found
          union all
          select * from app.authenticate(${previous}, ${idleSeconds}, ${step}) where not exists (select from found)`
  return row === undefined ? null : checkedPrincipal(row)
}

interface ProvenSessionRow extends CheckedSessionRow {
  proof: Uint8Array | null
}

/** The principal of a session, with the proof by which another service enters the tenant (app.enter). */
export type ProvenPrincipal = SessionPrincipal & { readonly proof: Uint8Array | null }

/** As `authenticate`, also in one statement, with a proof for another service. It is null before a tenant is selected. */
export async function authenticateForService(
  sql: Run,
  [current, previous]: TokenHashes,
  { idleSeconds, slideStepSeconds }: Pick<Config['session'], 'idleSeconds' | 'slideStepSeconds'>,
): Promise<ProvenPrincipal | null> {
  const step = slideStep(idleSeconds, slideStepSeconds)
  const [row] =
    previous === null
      ? await sql<ProvenSessionRow>`
          select found.*, app.service_proof(ticket) as proof
            from app.authenticate(${current}, ${idleSeconds}, ${step}) found`
      : await sql<ProvenSessionRow>`
          with first as materialized (select * from app.authenticate(${current}, ${idleSeconds}, ${step})),
               found as (select * from first
                         union all
                         select * from app.authenticate(${previous}, ${idleSeconds}, ${step}) where not exists (select from first))
          select found.*, app.service_proof(ticket) as proof from found`
  return row === undefined ? null : { ...checkedPrincipal(row), proof: row.proof }
}

/** Returns the time between two writes of the idle expiry. A longer step would end sessions that are in use. */
export const slideStep = (idleSeconds: number, slideStepSeconds: number): number =>
  Math.min(slideStepSeconds, Math.floor(idleSeconds / 2))

/**
 * Selects a tenant for a session. Audits it when the session had selected another tenant or none. Returns null when the
 * user has no live membership there or the tenant is not open. Rejects with the PostgresError TN401 when the session is no longer live.
 */
export async function selectTenant(
  call: TicketRun,
  {
    principal: { ticket, csrfSecret },
    tenantId,
    idleSeconds,
    source,
  }: {
    principal: SessionPrincipal
    tenantId: string
    idleSeconds: number
    source: Required<RequestSource>
  },
): Promise<SessionPrincipal | null> {
  const [row] = await ticket.present(
    (bytes) => call<LiveSessionRow>`
      select * from app.select_tenant(${bytes}, ${tenantId}, ${idleSeconds}, ${sourceValue(source)}::app.source)`,
  )
  return row === undefined ? null : toPrincipal(row, { ticket, csrfSecret })
}

const checkedPrincipal = (row: CheckedSessionRow): SessionPrincipal =>
  toPrincipal(row, { ticket: new Ticket(row.ticket), csrfSecret: new CsrfSecret(row.csrf_secret) })

export const sessionOf = (row: LiveSessionRow): Session => ({
  id: row.session_id,
  idle_expires_at: row.idle_expires_at,
  absolute_expires_at: row.absolute_expires_at,
  second_factor_at: row.second_factor_at,
  stepped_up_at: row.stepped_up_at,
})

export const userOf = (row: LiveSessionRow): User => ({
  id: row.user_id,
  email: row.email,
  email_verified_at: row.email_verified_at,
  full_name: row.full_name,
  avatar_url: row.avatar_url,
})

/** Returns the tenant with this id of a row that has its other parts. */
export const tenantOf = (id: string, row: Omit<Tenant, 'id'>): Tenant => ({
  id,
  slug: row.slug,
  legal_name: row.legal_name,
  status: row.status,
  timezone: row.timezone,
  currency: row.currency,
})

function toPrincipal(row: LiveSessionRow, proofs: Pick<SessionPrincipal, 'ticket' | 'csrfSecret'>): SessionPrincipal {
  const session = sessionOf(row)
  const user = { ...userOf(row), language: row.language }
  const signedIn = { kind: 'session', ...proofs, session, signedInAt: row.signed_in_at } as const
  if (row.tenant_id === null)
    return { ...signedIn, user, tenant: null, role: null, permissions: [], secondFactor: null }
  return {
    ...signedIn,
    user,
    tenant: tenantOf(row.tenant_id, row),
    role: { id: row.role_id, code: row.role_code, label: row.role_label, rank: row.role_rank },
    permissions: row.permissions,
    membershipId: row.membership_id,
    secondFactor: askedFactor(row.second_factor_from, session.second_factor_at !== null),
  }
}
