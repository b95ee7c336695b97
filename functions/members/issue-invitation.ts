import type { TenantTransaction } from '#shared/db/scope.ts'
import type { Invitation, InvitationRecord } from '#shared/membership/member.ts'
import { enqueue } from '#shared/queue/queries.ts'
import type { RuntimeFor } from '#shared/runtime.ts'
import { hashToken } from '#shared/secret/secret.ts'
import type { TenantPrincipal } from '#shared/session/session.ts'
import { mailToken, newNonce } from '#shared/token/token.ts'
import { putInvitation, searchInvitations } from './invitation-queries.ts'

/** Creates or renews an invitation and enqueues its mail in the same transaction, so that neither exists without the other. */
export async function issueInvitation(
  {
    sql,
    principal,
    runtime,
  }: { sql: TenantTransaction; principal: TenantPrincipal; runtime: RuntimeFor<'pepper' | 'mail-key'> },
  { email, roleId }: { email: string; roleId: number },
): Promise<InvitationRecord> {
  const nonce = newNonce()
  const id = await putInvitation(sql, {
    email,
    roleId,
    invitedBy: principal.user.id,
    tokenHash: hashToken(runtime.pepper, mailToken(runtime.mailKey, 'invite', nonce)),
    ttlSeconds: runtime.config.invite.ttlSeconds,
  })
  await enqueue(sql, 'mail', { template: 'invitation', invitation_id: id, nonce })
  const [written] = await searchInvitations(sql, { id })
  if (written === undefined) throw new Error('the new invitation was not found')
  return written.item
}

/** Converts an invitation to its form in the API, with the role as its code. */
export const showInvitation = ({ role, ...invitation }: InvitationRecord): Invitation => ({
  ...invitation,
  role: role.code,
})
