import { type MemberContext, recordAudit } from '#shared/audit/record-audit.ts'
import type { InvitationRecord } from '#shared/identity/member.ts'
import { deleteInvitation } from './invitation-queries.ts'

/** Deletes an open invitation and records it. Its token can no longer be used. */
export async function withdrawInvitation(
  context: MemberContext,
  { id, email, role }: Pick<InvitationRecord, 'id' | 'email' | 'role'>,
): Promise<void> {
  await deleteInvitation(context.sql, id)
  await recordAudit(context, { action: 'invitation.cancelled', targetId: id, before: { email, role: role.code } })
}
