import * as v from 'valibot'
import { Id } from '#shared/schema/id.ts'
import { Timestamp } from '#shared/schema/timestamp.ts'
import { Role } from '#shared/role/role.ts'
import { Tenant } from '#shared/tenant/tenant.ts'
import { User } from '#shared/user/user.ts'

/** A session as its holder sees it: when it ends if unused, and when it ends in any case. */
export const Session = v.pipe(
  v.object({ id: Id, idle_expires_at: Timestamp, absolute_expires_at: Timestamp }),
  v.title('Session'),
)

export type Session = Readonly<v.InferOutput<typeof Session>>

/** The holder of a live session that has no tenant yet. */
export interface PendingPrincipal {
  readonly session: Session
  readonly user: User
  readonly tenant: null
  readonly role: null
  readonly permissions: readonly string[]
}

/** The holder of a live session that acts for a tenant, through a live membership. */
export interface TenantPrincipal {
  readonly session: Session
  readonly user: User
  readonly tenant: Tenant
  readonly role: Role
  readonly permissions: readonly string[]
  readonly membershipId: string
}

export type Principal = PendingPrincipal | TenantPrincipal

/** The answer to «who am I, and where»: the caller without what is internal. */
export const Me = v.pipe(
  v.object({
    session: Session,
    user: User,
    tenant: v.nullable(Tenant),
    role: v.nullable(Role),
    permissions: v.pipe(v.array(v.string()), v.examples([['catalog.read', 'customer.write']])),
  }),
  v.title('Principal'),
)

export const describePrincipal = ({ session, user, tenant, role, permissions }: Principal) => ({
  session,
  user,
  tenant,
  role,
  permissions,
})
