import type { TenantTransaction } from '#shared/db/scope.ts'
import type { Invitation, InvitationRecord } from '#shared/membership/member.ts'
import { rateLimited } from '#shared/http/rate-limited.ts'
import { enqueue, rehearseEnqueue } from '#shared/queue/queries.ts'
import { countAttempt } from '#shared/rate-limit/queries.ts'
import type { RuntimeFor } from '#shared/runtime.ts'
import { hashToken } from '#shared/secret/secret.ts'
import { mailToken, newNonce } from '#shared/token/token.ts'
import { findInvitation, putInvitation, secondsBeforeResend } from './invitation-queries.ts'
import { recipientLimit } from './invite-limits.ts'

/**
 * Creates or renews an invitation and enqueues its mail in the same transaction, so that neither exists without the other.
 * Sends no mail to a recipient who got enough today: the response must not tell a tenant what others send. Throws
 * `rate-limited` when the invitation was mailed a short time ago.
 */
export async function issueInvitation(
  { sql, runtime }: { sql: TenantTransaction; runtime: RuntimeFor<'pepper' | 'mail-key'> },
  { email, roleId }: { email: string; roleId: number },
): Promise<InvitationRecord> {
  const { ttlSeconds, resendSeconds } = runtime.config.invite
  const retryAfterSeconds = await secondsBeforeResend(sql, email, resendSeconds)
  if (retryAfterSeconds > 0) {
    throw rateLimited({ limit: { name: 'invite-resend', limit: 1, windowSeconds: resendSeconds }, retryAfterSeconds })
  }
  const nonce = newNonce()
  const id = await putInvitation(sql, {
    email,
    roleId,
    tokenHash: hashToken(runtime.pepper, mailToken(runtime.mailKey, 'invite', nonce)),
    ttlSeconds,
  })
  // Counted in this transaction, so that only an invitation that commits counts.
  const refusal = await countAttempt(sql, [recipientLimit(runtime, email)])
  const add = refusal === null ? enqueue : rehearseEnqueue
  await add(sql, 'mail', { template: 'invitation', invitation_id: id, nonce })
  const written = await findInvitation(sql, id)
  if (written === null) throw new Error('the new invitation was not found')
  return written
}

/** Converts an invitation to its form in the API, with the role as its code. */
export const showInvitation = ({ role, ...invitation }: InvitationRecord): Invitation => ({
  ...invitation,
  role: role.code,
})
