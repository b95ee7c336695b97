import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { Role } from '#shared/identity/role.ts'
import { RoleCode } from '#shared/identity/role-code.ts'
import { Tenant } from '#shared/identity/tenant.ts'
import { SentToken } from '#shared/identity/token.ts'
import { Address } from '#shared/schema/email.ts'
import { User } from '#shared/identity/user.ts'
import { hashSentToken, tokenInvalid, tokenLimits } from './sent-token.ts'
import { findInvitation } from './invitation-queries.ts'

const { full_name } = User.entries
const Inviter = v.object({ full_name, email: Address })
const InvitedTenant = v.object({ slug: Tenant.entries.slug, legal_name: Tenant.entries.legal_name })

export const inspectInvitation = endpoint({
  route: 'POST /v1/auth/invitations/inspect',
  access: 'anyone',
  summary: 'Read an invitation without consuming it',
  audit: { none: 'it changes nothing' },
  body: v.object({ token: SentToken }),
  reply: v.object({
    tenant: InvitedTenant,
    email: Address,
    role: RoleCode,
    role_label: Role.entries.label,
    account_exists: v.boolean(),
    consumed: v.pipe(v.boolean(), v.description('Whether the invitation was accepted before.')),
    inviter: v.nullable(Inviter),
    second_factor_required: v.pipe(
      v.boolean(),
      v.description('Whether the tenant asks the role for a second factor, now or later.'),
    ),
  }),
  problems: ['token-invalid'],
  limits: tokenLimits,
  async handle({ body, sql, runtime }) {
    const invitation = await findInvitation(sql, hashSentToken(runtime, body.token))
    if (invitation === null) throw tokenInvalid('no invitation that can be accepted')
    if (invitation.consumed && !invitation.is_member) throw tokenInvalid('the membership of the invitation has ended')
    const {
      slug,
      legal_name,
      role_code: role,
      role_label,
      email,
      account_exists,
      consumed,
      inviter_name,
      inviter_email,
      second_factor_required,
    } = invitation
    const inviter = inviter_email === null ? null : { full_name: inviter_name, email: inviter_email }
    return ok({
      tenant: { slug, legal_name },
      email,
      role,
      role_label,
      account_exists,
      consumed,
      inviter,
      second_factor_required,
    })
  },
})
