import * as v from 'valibot'
import { Id, Moment } from '#shared/schema/wire.ts'
import { Role } from '#shared/role/role.ts'
import { Tenant } from '#shared/tenant/tenant.ts'
import { User } from '#shared/user/user.ts'

/** A session as its holder sees it: when it ends if unused, and when it ends in any case. */
export const Session = v.pipe(
  v.object({ id: Id, idle_expires_at: Moment, absolute_expires_at: Moment }),
  v.title('Session'),
)

export type Session = Readonly<v.InferOutput<typeof Session>>

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
export const CallerView = v.pipe(
  v.object({
    session: Session,
    user: User,
    tenant: v.nullable(Tenant),
    role: v.nullable(Role),
    permissions: v.pipe(v.array(v.string()), v.examples([['catalog.read', 'customer.write']])),
  }),
  v.title('Caller'),
)

export const describeCaller = ({ session, user, tenant, role, permissions }: Caller) => ({
  session,
  user,
  tenant,
  role,
  permissions,
})
