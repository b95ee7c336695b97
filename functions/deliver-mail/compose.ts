import type { TenantTransaction } from '#shared/db/scope.ts'
import type { EmailMessage } from '#shared/mail/email-message.ts'
import * as templates from '#shared/mail/templates.ts'
import { UnreadableJob } from '#shared/queue/drain.ts'
import type { JobPayload } from '#shared/queue/kinds.ts'
import { type LeasedJob, proofOfLease } from '#shared/queue/queries.ts'
import { mailTokens } from '#shared/token/token.ts'
import type { Runtime } from './job.ts'
import {
  findExpiry,
  findOpenInvitation,
  findResetContact,
  findUserContact,
  findMembershipContact,
  putToken,
  type UserContact,
} from './queries.ts'

/** Returns the email of a mail job as of now, or null when there is no recipient, or no reason to write any more. */
export async function compose(runtime: Runtime, job: LeasedJob<JobPayload<'mail'>>): Promise<EmailMessage | null> {
  const { config, database } = runtime
  const { payload: mail } = job
  const { webBaseUrl } = config.mail
  const inTenant = <T>(read: (sql: TenantTransaction) => Promise<T>): Promise<T> => {
    if (job.tenant_id === null) throw new UnreadableJob(`the mail ${mail.template} needs a tenant`)
    return proofOfLease(job).read(database, read)
  }
  const withToken = async (
    { id: userId, email: to }: UserContact,
    purpose: 'password_reset' | 'email_verify',
    nonce: string,
    ttlSeconds: number,
  ) => {
    const [current, ...others] = mailTokens(runtime, purpose, nonce)
    // An earlier attempt may have stored and sent the token before the pepper or the mail key was changed.
    for (const { token, hash } of others) {
      const expiresAt = await findExpiry(database.sql, hash)
      if (expiresAt !== null) return { to, expiresAt, token, webBaseUrl }
    }
    const expiresAt = await putToken(database.sql, {
      hash: current.hash,
      purpose,
      userId,
      requestedAt: job.created_at,
      ttlSeconds,
    })
    return { to, expiresAt, token: current.token, webBaseUrl }
  }

  switch (mail.template) {
    case 'invitation': {
      const open = await inTenant((sql) => findOpenInvitation(sql, mail.invitation_id))
      const token = mailTokens(runtime, 'invite', mail.nonce).find(({ hash }) => open?.token_hash.equals(hash))?.token
      // The invitation was renewed. Its new token has an email of its own.
      if (open === null || token === undefined) return null
      const { email: to, shop, inviter, role, expires_at: expiresAt, timezone: timeZone } = open
      return templates.invitation({ to, shop, inviter, role, expiresAt, timeZone, token, webBaseUrl })
    }
    case 'password-reset': {
      const recipient = await findResetContact(database.sql, mail.email, job.created_at)
      if (recipient === null) return null
      return templates.passwordReset(await withToken(recipient, 'password_reset', mail.nonce, config.reset.ttlSeconds))
    }
    case 'email-verification': {
      const recipient = await findUserContact(database.sql, mail.user_id)
      if (recipient === null || recipient.email_verified_at !== null) return null
      return templates.emailVerification(
        await withToken(recipient, 'email_verify', mail.nonce, config.verify.ttlSeconds),
      )
    }
    case 'password-changed': {
      const recipient = await findUserContact(database.sql, mail.user_id)
      return recipient === null ? null : templates.passwordChanged({ to: recipient.email, webBaseUrl })
    }
    case 'membership-added': {
      const place = await inTenant((sql) => findMembershipContact(sql, mail.user_id))
      return place === null ? null : templates.membershipAdded({ to: place.email, ...place, webBaseUrl })
    }
    case 'membership-removed': {
      const place = await inTenant((sql) => findMembershipContact(sql, mail.user_id))
      return place === null ? null : templates.membershipRemoved({ to: place.email, shop: place.shop })
    }
  }
}
