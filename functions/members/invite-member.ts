import * as v from 'valibot'
import { endpoint } from '#shared/http/endpoint.ts'
import { forbidden, invalid, Problem } from '#shared/problem.ts'
import { ok } from '#shared/http/reply.ts'
import { Invitation } from '#shared/membership/member.ts'
import { findRole } from '#shared/role/queries.ts'
import { RoleCode } from '#shared/role/role-code.ts'
import { Email } from '#shared/schema/email.ts'
import { inviteLimits } from './invite-limits.ts'
import { findInvitee } from './invitation-queries.ts'
import { issueInvitation } from './issue-invitation.ts'

export const inviteMember = endpoint({
  route: 'POST /v1/members/invite',
  access: { permission: 'member.manage', exclusive: true },
  summary: 'Invite a person by email',
  needs: ['mail-key', 'invoke:deliver-mail'],
  body: v.object({ email: Email, role: RoleCode }),
  reply: Invitation,
  problems: ['already-member'],
  limits: inviteLimits,
  async handle(context) {
    const { body, principal, sql, runtime } = context
    const [role, invitee] = await Promise.all([
      findRole(sql, body.role),
      findInvitee(sql, body.email, runtime.config.invite.resendSeconds),
    ])
    if (role === null) throw invalid([{ pointer: '#/role', detail: 'is not a role' }])
    if (role.rank > principal.role.rank) throw forbidden('the role outranks the principal')
    if (invitee.rank !== null && invitee.rank > principal.role.rank)
      throw forbidden('the role of the open invitation outranks the principal')
    if (invitee.is_member)
      throw new Problem('already-member', { detail: 'This person is already a member of the tenant.' })
    const invitation = await issueInvitation(context, invitee, role, {
      action: invitee.rank === null ? 'invitation.created' : 'invitation.replaced',
      after: { email: invitee.email, role: role.code },
    })
    return ok(invitation)
  },
})
