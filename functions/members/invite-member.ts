import * as v from 'valibot'
import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { forbidden, invalid, Problem } from '#shared/problem.ts'
import { ok } from '#shared/http/reply.ts'
import { Invitation } from '#shared/membership/member.ts'
import { findRole } from '#shared/role/queries.ts'
import { RoleCode } from '#shared/role/role-code.ts'
import { Email } from '#shared/schema/email.ts'
import { inviteLimits } from './invite-limits.ts'
import { issueInvitation, showInvitation } from './issue-invitation.ts'
import { invitedRank, isMember } from './invitation-queries.ts'

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
    const { body, principal, sql } = context
    const role = await findRole(sql, body.role)
    if (role === null) throw invalid([{ pointer: '#/role', detail: 'is not a role' }])
    if (role.rank > principal.role.rank) throw forbidden('the role outranks the principal')
    const openRank = await invitedRank(sql, body.email)
    if (openRank !== null && openRank > principal.role.rank)
      throw forbidden('the role of the open invitation outranks the principal')
    if (await isMember(sql, body.email)) {
      throw new Problem('already-member', { detail: 'This person is already a member of the tenant.' })
    }
    const invitation = await issueInvitation(context, { email: body.email, roleId: role.id })
    await recordAudit(context, {
      action: openRank === null ? 'invitation.created' : 'invitation.replaced',
      targetId: invitation.id,
      after: { email: invitation.email, role: role.code },
    })
    return ok(showInvitation(invitation))
  },
})
