import * as v from 'valibot'
import { recordAudit } from '#shared/audit/record-audit.ts'
import { endpoint } from '#shared/http/endpoint.ts'
import { etagOf, requireMatch } from '#shared/http/etag.ts'
import { ok, type Reply } from '#shared/http/reply.ts'
import { notFound } from '#shared/base/problem.ts'
import { Member } from '#shared/identity/member.ts'
import { enqueue, invoking } from '#shared/queue/queries.ts'
import { countKeysOf, lockMember, revokeMembership } from './member-queries.ts'
import { requireMayGive } from './require-may-give.ts'
import { withdrawInvitation } from './withdraw-invitation.ts'

const KeysLeft = v.pipe(
  v.number(),
  v.integer(),
  v.description('How many live API keys the person made. They stay.'),
  v.examples([1]),
)

const RevokedMember = v.pipe(v.object({ ...Member.entries, api_keys: KeysLeft }), v.title('RevokedMember'))
type RevokedMember = v.InferOutput<typeof RevokedMember>

export const revokeMember = endpoint({
  route: 'DELETE /v1/members/{id}',
  access: { permission: 'member.manage', exclusive: true, stepUp: true },
  summary: 'Revoke a membership and end its sessions, or cancel an invitation',
  revokes: true,
  needs: ['invoke:deliver-mail'],
  reply: RevokedMember,
  etag: true,
  problems: ['last-owner'],
  async handle(context) {
    const { params, ifMatch, principal, sql } = context
    const member = await lockMember(sql, params.id)
    if (member === null) throw notFound('no member with this id')
    requireMatch(ifMatch, member)
    await requireMayGive(context, member.role)
    const revoked = async (as: Member): Promise<Reply<RevokedMember>> =>
      ok({ ...as, api_keys: await countKeysOf(sql, as.user.id) }, { headers: { etag: etagOf(as) } })
    if (member.revoked_at !== null) return revoked(member)
    if (member.accepted_at === null) {
      await withdrawInvitation(context, { id: member.id, email: member.user.email, role: member.role })
      return revoked({ ...member, revoked_at: new Date().toISOString() })
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
    return revoked({ ...member, second_factor: null, revoked_at })
  },
})
