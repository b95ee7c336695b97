import { endpoint } from '#shared/http/endpoint.ts'
import { forbidden, notFound } from '#shared/problem.ts'
import { ok } from '#shared/http/reply.ts'
import { Invitation } from '#shared/membership/member.ts'
import { issueInvitation } from './issue-invitation.ts'
import { inviteLimits } from './invite-limits.ts'
import { findInvitation, findInvitee } from './invitation-queries.ts'

export const resendInvitation = endpoint({
  route: 'POST /v1/members/invitations/{id}/resend',
  access: { permission: 'member.manage', exclusive: true },
  summary: 'Resend an open invitation with a new link',
  needs: ['mail-key', 'invoke:deliver-mail'],
  reply: Invitation,
  limits: inviteLimits,
  async handle(context) {
    const { params, principal, sql, runtime } = context
    const found = await findInvitation(sql, params.id)
    if (found === null) throw notFound('no open invitation with this id')
    const { email, role } = found
    if (role.rank > principal.role.rank) throw forbidden('the role of the invitation outranks the principal')
    const invitee = await findInvitee(sql, email, runtime.config.invite.resendSeconds)
    return ok(await issueInvitation(context, invitee, role, { action: 'invitation.resent' }))
  },
})
