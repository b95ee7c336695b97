import { endpoint } from '#shared/http/endpoint.ts'
import { notFound } from '#shared/base/problem.ts'
import { ok } from '#shared/http/reply.ts'
import { Invitation } from '#shared/identity/member.ts'
import { showInvitation } from './show-invitation.ts'
import { findInvitation } from './invitation-queries.ts'
import { requireMayGive } from './require-may-give.ts'
import { withdrawInvitation } from './withdraw-invitation.ts'

export const cancelInvitation = endpoint({
  route: 'DELETE /v1/members/invitations/{id}',
  access: { permission: 'member.manage', exclusive: true },
  summary: 'Cancel an open invitation',
  revokes: true,
  reply: Invitation,
  async handle(context) {
    const { params, sql } = context
    const invitation = await findInvitation(sql, params.id)
    if (invitation === null) throw notFound('no open invitation with this id')
    await requireMayGive(context, invitation.role)
    await withdrawInvitation(context, invitation)
    return ok({ ...showInvitation(invitation), status: 'cancelled' })
  },
})
