import { type AuditEntry, type MemberContext, recordAudit } from '#shared/audit/record-audit.ts'
import { rateLimited } from '#shared/http/rate-limited.ts'
import type { Invitation, InvitationRecord } from '#shared/membership/member.ts'
import { enqueue, rehearseEnqueue } from '#shared/queue/queries.ts'
import { countAttempt } from '#shared/rate-limit/queries.ts'
import type { Role } from '#shared/role/role.ts'
import type { RuntimeFor } from '#shared/runtime.ts'
import { hashToken } from '#shared/secret/secret.ts'
import { mailToken, newNonce } from '#shared/token/token.ts'
import { type Invitee, putInvitation } from './invitation-queries.ts'
import { recipientLimit } from './invite-limits.ts'

/**
 * Creates or renews an invitation, enqueues its mail and records both, all in the caller's transaction. Sends no mail to a
 * recipient who got enough today: the response must not tell a tenant what others send. Throws `rate-limited` when the
 * invitation was mailed a short time ago.
 */
export async function issueInvitation(
  context: MemberContext & { readonly runtime: RuntimeFor<'pepper' | 'mail-key'> },
  { email, wait_seconds: waitSeconds }: Invitee,
  role: Role,
  entry: Omit<AuditEntry, 'targetId'>,
): Promise<Invitation> {
  const { sql, runtime, principal } = context
  const { ttlSeconds, resendSeconds } = runtime.config.invite
  if (waitSeconds > 0) {
    const limit = { name: 'invite-resend', limit: 1, windowSeconds: resendSeconds }
    throw rateLimited({ limit, retryAfterSeconds: waitSeconds })
  }
  const nonce = newNonce()
  const tokenHash = hashToken(runtime.pepper, mailToken(runtime.mailKey, 'invite', nonce))
  const [stored, refusal] = await Promise.all([
    putInvitation(sql, { email, roleId: role.id, tokenHash, ttlSeconds }),
    // Counted in this transaction, so that only an invitation that commits counts.
    countAttempt(sql, [recipientLimit(runtime, email)]),
  ])
  const add = refusal === null ? enqueue : rehearseEnqueue
  await Promise.all([
    add(sql, 'mail', { template: 'invitation', invitation_id: stored.id, nonce }),
    recordAudit(context, { ...entry, targetId: stored.id }),
  ])
  return { ...stored, email, role: role.code, status: 'pending', invited_by: principal.user.id }
}

/** Converts an invitation to its form in the API, with the role as its code. */
export const showInvitation = ({ role, ...invitation }: InvitationRecord): Invitation => ({
  ...invitation,
  role: role.code,
})
