import type { Role } from '#shared/role/role.ts'
import type { Tenant } from '#shared/tenant/tenant.ts'
import type { User } from '#shared/user/user.ts'

/** A session as its holder sees it: when it ends if unused, and when it ends in any case. */
export interface Session {
  readonly id: string
  readonly idle_expires_at: Date
  readonly absolute_expires_at: Date
}

/** The holder of a live session that has no tenant yet. */
export interface PendingCaller {
  readonly session: Session
  readonly user: User
  readonly tenant: null
  readonly role: null
  readonly permissions: readonly string[]
}

/** The holder of a live session that acts for a tenant, through a live membership. */
export interface Member {
  readonly session: Session
  readonly user: User
  readonly tenant: Tenant
  readonly role: Role
  readonly permissions: readonly string[]
  readonly membershipId: string
}

export type Caller = PendingCaller | Member

/** The answer to «who am I, and where»: the caller without what is internal. */
export const describeCaller = ({ session, user, tenant, role, permissions }: Caller): object => ({
  session,
  user,
  tenant,
  role,
  permissions,
})
