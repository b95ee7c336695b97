import * as v from 'valibot'
import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { okWithEtag, requireMatch } from '#shared/http/etag.ts'
import { invalid, notFound } from '#shared/base/problem.ts'
import { Member } from '#shared/identity/member.ts'
import { findRole } from '#shared/identity/role-queries.ts'
import { enqueue } from '#shared/queue/queries.ts'
import { RoleCode } from '#shared/identity/role-code.ts'
import { setInvitedRole } from './invitation-queries.ts'
import { lockMember, setRole } from './member-queries.ts'
import { requireMayGive } from './require-may-give.ts'

export const changeRole = endpoint({
  route: 'PATCH /v1/members/{id}',
  access: { permission: 'member.manage', exclusive: true, stepUp: true },
  summary: 'Change the role of a member, or of an invited person',
  revokes: true,
  needs: ['invoke:deliver-mail'],
  body: v.object({ role: RoleCode }),
  reply: Member,
  etag: true,
  problems: ['last-owner'],
  async handle(context) {
    const { params, body, ifMatch, principal, sql } = context
    const role = await findRole(sql, body.role)
    if (role === null) throw invalid([{ pointer: '#/role', code: 'unknown', kind: 'a role' }])
    const member = await lockMember(sql, params.id)
    if (member === null || member.revoked_at !== null) throw notFound('no member with this id')
    requireMatch(ifMatch, member)
    await requireMayGive(context, role, member.role)
    if (role.id === member.role.id) return okWithEtag(member)
    const change = { targetId: member.id, before: { role: member.role.code }, after: { role: role.code } }
    if (member.accepted_at !== null) {
      await setRole(sql, member.id, role.id)
      await recordAudit(context, { action: 'membership.role_changed', ...change })
      const userId = member.user.id
      if (userId !== null && userId !== principal.user.id)
        await enqueue(sql, 'mail', { template: 'role-changed', user_id: userId })
      return okWithEtag({ ...member, role })
    }
    await setInvitedRole(sql, member.id, role.id)
    await recordAudit(context, { action: 'invitation.role_changed', ...change })
    return okWithEtag({ ...member, role, invited_by: principal.user.id })
  },
})
