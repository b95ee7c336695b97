import * as v from 'valibot'
import { Id } from '#shared/schema/id.ts'
import { Timestamp } from '#shared/schema/timestamp.ts'
import { Role } from '#shared/identity/role.ts'
import { RoleCode } from '#shared/identity/role-code.ts'
import { Address } from '#shared/schema/email.ts'
import { User } from '#shared/identity/user.ts'

/**
 * A membership with its user and role, as the API shows it. `accepted_at` is null for an invited person: then `id` is the
 * invitation's, and of the user only the address is shown, whether or not it has an account.
 */
export const Member = v.pipe(
  v.object({
    id: Id,
    user: v.object({
      id: v.nullable(Id),
      email: Address,
      full_name: User.entries.full_name,
      avatar_url: User.entries.avatar_url,
      disabled: v.boolean(),
    }),
    role: Role,
    second_factor: v.pipe(
      v.nullable(v.boolean()),
      v.description('Whether the person has a second factor. Null for invited persons and former members.'),
    ),
    invited_by: v.nullable(Id),
    accepted_at: v.nullable(Timestamp),
    revoked_at: v.nullable(Timestamp),
    created_at: Timestamp,
  }),
  v.title('Member'),
)

export type Member = Readonly<v.InferOutput<typeof Member>>

/** An invitation, as the API shows it. */
export const Invitation = v.pipe(
  v.object({
    id: Id,
    email: Address,
    role: RoleCode,
    status: v.picklist(['pending', 'expired', 'cancelled']),
    invited_by: v.nullable(Id),
    created_at: Timestamp,
    expires_at: Timestamp,
    bounced_at: v.pipe(
      v.nullable(Timestamp),
      v.description(
        'When the mail of the invitation came back for good, or was marked as spam. No more mail is sent to it.',
      ),
    ),
  }),
  v.title('Invitation'),
)

export type Invitation = Readonly<v.InferOutput<typeof Invitation>>

/** An open invitation with its whole role, whose rank decides who may change the invitation. */
export interface InvitationRecord extends Omit<Invitation, 'role' | 'status'> {
  readonly role: Role
  readonly status: 'pending' | 'expired'
}

/** Returns an invited person as a member. */
export const invitedMember = ({ id, email, role, invited_by, created_at }: InvitationRecord): Member => ({
  id,
  user: { id: null, email, full_name: null, avatar_url: null, disabled: false },
  role,
  second_factor: null,
  invited_by,
  accepted_at: null,
  revoked_at: null,
  created_at,
})
