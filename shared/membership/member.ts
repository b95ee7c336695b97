import type { Role } from '#shared/role/role.ts'
import type { User } from '#shared/user/user.ts'

/** A membership with its person and role, as the members of the shop see it. */
export interface MemberView {
  readonly id: string
  readonly user: Pick<User, 'id' | 'email' | 'full_name' | 'avatar_url'>
  readonly role: Role
  readonly invited_by: string | null
  readonly accepted_at: Date | null
  readonly revoked_at: Date | null
  readonly created_at: Date
}

/** An invitation that is open, as those who may invite see it. */
export interface InvitationView {
  readonly id: string
  readonly email: string
  readonly role: Role
  readonly status: 'pending' | 'expired'
  readonly invited_by: string | null
  readonly created_at: Date
  readonly expires_at: Date
}
