import { limitOn } from '#shared/http/limit-by.ts'
import { newNonce, mailToken } from '#shared/identity/token.ts'
import { recipientLimit } from '#shared/http/recipient-limit.ts'
import type { LeasedJob } from '#shared/queue/queries.ts'
import { mailboxOf } from '#shared/schema/email.ts'
import { hashToken } from '#shared/secret/secret.ts'
import { remailInvitation } from './queries.ts'
import type { Runtime } from './worker.ts'

const UNLIMITED = 1_000_000

/**
 * Mails the open invitation of somebody who asked for a new password and has no account yet: they look for the way in. Counts against
 * the limits of invitations.
 */
export async function remail(runtime: Runtime, job: LeasedJob, email: string): Promise<void> {
  const { config, pepper, mailKey, database } = runtime
  const { resendSeconds } = config.invite
  const nonce = newNonce()
  await remailInvitation(database.sql, job, {
    nonce,
    tokenHash: hashToken(pepper, mailToken(mailKey, 'invite', nonce)),
    resendSeconds,
    mailboxLimit: limitOn('invite-again', runtime, mailboxOf(email), {
      limit: resendSeconds === 0 ? UNLIMITED : 1,
      windowSeconds: Math.max(1, resendSeconds),
    }),
    recipientLimit: recipientLimit(runtime, email),
  })
}
