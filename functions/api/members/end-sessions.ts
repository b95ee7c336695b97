import { recordAudit } from '#shared/audit/record-audit.ts'
import { notFound } from '#shared/base/problem.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { ok } from '#shared/http/reply.ts'
import { Member } from '#shared/identity/member.ts'
import { endSessionsOf, lockMember } from './member-queries.ts'
import { requireMayGive } from './require-may-give.ts'

export const endSessions = endpoint({
  route: 'DELETE /v1/members/{id}/sessions',
  access: { permission: 'member.manage', exclusive: true, stepUp: true },
  summary: 'End the sessions of a member in the tenant. They stay a member, and can sign in again',
  revokes: true,
  reply: Member,
  async handle(context) {
    const { params, sql } = context
    const member = await lockMember(sql, params.id)
    const userId = member?.user.id ?? null
    if (member === null || userId === null || member.revoked_at !== null) throw notFound('no member with this id')
    await requireMayGive(context, member.role)
    if ((await endSessionsOf(sql, userId)) > 0)
      await recordAudit(context, { action: 'membership.sessions_ended', targetId: member.id })
    return ok(member)
  },
})
