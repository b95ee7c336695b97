import * as v from 'valibot'
import { Id } from '#shared/schema/id.ts'
import { Timestamp } from '#shared/schema/timestamp.ts'
import { AskedFactor } from '#shared/identity/asked-factor.ts'
import { Role } from '#shared/identity/role.ts'
import { Tenant } from '#shared/identity/tenant.ts'
import type { CsrfSecret } from '#shared/identity/csrf-secret.ts'
import type { Ticket } from '#shared/identity/ticket.ts'
import { OwnUser } from '#shared/identity/user.ts'

/**
 * A session, with the time when it expires if unused, the time when it expires in any case, and the times when a second factor was first proven
 * and when its user last proved their presence.
 */
export const Session = v.pipe(
  v.object({
    id: Id,
    idle_expires_at: Timestamp,
    absolute_expires_at: Timestamp,
    second_factor_at: v.nullable(Timestamp),
    stepped_up_at: v.nullable(Timestamp),
  }),
  v.title('Session'),
)

export type Session = Readonly<v.InferOutput<typeof Session>>

interface OfSession {
  readonly kind: 'session'
  readonly ticket: Ticket
  readonly csrfSecret: CsrfSecret
  readonly session: Session
  readonly signedInAt: string
  readonly user: OwnUser
  readonly permissions: readonly string[]
}

/** The user of a live session without a tenant. */
export interface PendingPrincipal extends OfSession {
  readonly tenant: null
  readonly role: null
  readonly secondFactor: null
}

/** The user of a live session in a tenant, where they have a live membership. */
export interface TenantPrincipal extends OfSession {
  readonly tenant: Tenant
  readonly role: Role
  readonly membershipId: string
  /** What the tenant asks of the session. Null: the role needs no second factor. */
  readonly secondFactor: AskedFactor | null
}

/** The user of a live session. */
export type SessionPrincipal = PendingPrincipal | TenantPrincipal

/** A live API key of a tenant. It is no person: it has neither a user nor a session, a role or a rank. */
export interface KeyPrincipal {
  readonly kind: 'key'
  readonly ticket: Ticket
  readonly key: { readonly id: string; readonly name: string; readonly expires_at: string }
  readonly tenant: Tenant
  readonly permissions: readonly string[]
}

/** Who calls: `kind` says what they are. Code that reads `user` of any principal does not compile. */
export type Principal = SessionPrincipal | KeyPrincipal

/** What a principal may be. */
export const PRINCIPAL_KINDS = ['session', 'key'] as const satisfies readonly Principal['kind'][]

export type PrincipalKind = (typeof PRINCIPAL_KINDS)[number]

/** Who may act in a tenant. */
export type ActingPrincipal = TenantPrincipal | KeyPrincipal

/** What the forms of a front end carry, so that only its own pages can send them. */
export const CsrfToken = v.pipe(v.string(), v.examples(['b1N0c2Vzc2lvbi1vZi1hbi1leGFtcGxlLW9ubHktLS0']))

/** The principal, as the API shows it. */
export const Me = v.pipe(
  v.object({
    session: Session,
    user: OwnUser,
    tenant: v.nullable(Tenant),
    role: v.nullable(Role),
    permissions: v.pipe(v.array(v.string()), v.examples([['catalog.read', 'customer.write']])),
    second_factor: v.nullable(AskedFactor),
    csrf_token: CsrfToken,
  }),
  v.title('Principal'),
)

export const describePrincipal = ({
  csrfSecret,
  session,
  user,
  tenant,
  role,
  permissions,
  secondFactor,
}: SessionPrincipal) => ({
  session,
  user,
  tenant,
  role,
  permissions,
  second_factor: secondFactor,
  csrf_token: csrfSecret.tokenOf(session.id),
})
