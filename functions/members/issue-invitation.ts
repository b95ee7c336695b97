import type { TenantSql } from '#shared/db/scope.ts'
import type { Invitation, InvitationView } from '#shared/membership/member.ts'
import { enqueue } from '#shared/queue/queries.ts'
import type { Runtime } from '#shared/runtime.ts'
import { tokenKey } from '#shared/secret/secret.ts'
import type { Member } from '#shared/session/session.ts'
import { mailToken, newNonce } from '#shared/token/token.ts'
import { putInvitation, searchInvitations } from './queries.ts'

/** Opens or renews an invitation and enqueues its mail: the same transaction, so that each is mailed or is not there. */
export async function issueInvitation(
  { sql, caller, runtime }: { sql: TenantSql; caller: Member; runtime: Runtime },
  { email, userId, roleId }: { email: string; userId: string | null; roleId: number },
): Promise<InvitationView> {
  const nonce = newNonce()
  const id = await putInvitation(sql, {
    email,
    userId,
    roleId,
    invitedBy: caller.user.id,
    tokenHash: tokenKey(runtime.pepper, mailToken(runtime.mailKey, 'invite', nonce)),
    ttlSeconds: runtime.config.invite.ttlSeconds,
  })
  await enqueue(sql, 'mail', { template: 'invitation', invitation_id: id, nonce })
  const [written] = await searchInvitations(sql, { id })
  if (written === undefined) throw new Error('the invitation is gone')
  return written.invitation
}

/** An invitation as its routes answer it: the role by its code. */
export const showInvitation = ({ role, ...invitation }: InvitationView): Invitation => ({
  ...invitation,
  role: role.code,
})
