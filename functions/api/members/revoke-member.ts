import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { okWithEtag, requireMatch } from '#shared/http/etag.ts'
import { notFound } from '#shared/base/problem.ts'
import { Member } from '#shared/identity/member.ts'
import { enqueue, invoking } from '#shared/queue/queries.ts'
import { lockMember, revokeMembership } from './member-queries.ts'
import { requireMayGive } from './require-may-give.ts'
import { withdrawInvitation } from './withdraw-invitation.ts'

export const revokeMember = endpoint({
  route: 'DELETE /v1/members/{id}',
  access: { permission: 'member.manage', exclusive: true, stepUp: true },
  summary: 'Revoke a membership and end its sessions, or cancel an invitation',
  revokes: true,
  needs: ['invoke:deliver-mail'],
  reply: Member,
  etag: true,
  problems: ['last-owner'],
  async handle(context) {
    const { params, ifMatch, principal, sql } = context
    const member = await lockMember(sql, params.id)
    if (member === null) throw notFound('no member with this id')
    requireMatch(ifMatch, member)
    await requireMayGive(context, member.role)
    if (member.revoked_at !== null) return okWithEtag(member)
    if (member.accepted_at === null) {
      await withdrawInvitation(context, { id: member.id, email: member.user.email, role: member.role })
      return okWithEtag({ ...member, revoked_at: new Date().toISOString() })
    }
    const { user_id, revoked_at } = await revokeMembership(sql, member.id)
    const left = user_id === principal.user.id
    await recordAudit(context, {
      action: 'membership.revoked',
      targetId: member.id,
      before: { role: member.role.code },
      ...(left && { after: { left } }),
    })
    if (left) await invoking(sql, 'mail')`select app.mail_owners(${member.id})`
    else await enqueue(sql, 'mail', { template: 'membership-removed', user_id })
    return okWithEtag({ ...member, second_factor: null, revoked_at })
  },
})
