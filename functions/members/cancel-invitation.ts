import { endpoint } from '#shared/http/endpoint.ts'
import { forbidden, notFound } from '#shared/problem.ts'
import { ok } from '#shared/http/reply.ts'
import { Invitation } from '#shared/membership/member.ts'
import { showInvitation } from './issue-invitation.ts'
import { findInvitation } from './invitation-queries.ts'
import { withdrawInvitation } from './withdraw-invitation.ts'

export const cancelInvitation = endpoint({
  route: 'DELETE /v1/members/invitations/{id}',
  access: { permission: 'member.manage', exclusive: true },
  summary: 'Cancel an open invitation',
  reply: Invitation,
  async handle(context) {
    const { params, principal, sql } = context
    const invitation = await findInvitation(sql, params.id)
    if (invitation === null) throw notFound('no open invitation with this id')
    if (invitation.role.rank > principal.role.rank) throw forbidden('the role of the invitation outranks the principal')
    await withdrawInvitation(context, invitation)
    return ok({ ...showInvitation(invitation), status: 'cancelled' })
  },
})
