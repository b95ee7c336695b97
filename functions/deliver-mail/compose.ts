import type { TenantTransaction } from '#shared/db/scope.ts'
import type { EmailMessage } from '#shared/mail/email-message.ts'
import { recordBounce } from '#shared/mail/bounces.ts'
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

// For emails without a token.
const NOTICE_TTL_SECONDS = 7 * 86_400

/** The time in which the email had to be sent is over. */
export class Expired extends Error {
  override name = 'Expired'
}

/**
 * Returns the email of a mail job as of now, or null when there is no recipient, or no reason to write any more. Throws Expired
 * when it comes too late.
 */
export async function compose(runtime: Runtime, job: LeasedJob<JobPayload<'mail'>>): Promise<EmailMessage | null> {
  const { config, database } = runtime
  const { payload: mail } = job
  const { webBaseUrl } = config.mail
  const inTenant = <T>(read: (sql: TenantTransaction) => Promise<T>): Promise<T> => {
    if (job.tenant_id === null) throw new UnreadableJob(`the mail ${mail.template} needs a tenant`)
    return proofOfLease(job).read(database, read)
  }
  const lifetimes: Readonly<Record<typeof mail.template, number>> = {
    // Until the invitation expires, which is stored with it.
    invitation: Infinity,
    'password-reset': config.reset.ttlSeconds,
    'email-verification': config.verify.ttlSeconds,
    'password-changed': NOTICE_TTL_SECONDS,
    'membership-added': NOTICE_TTL_SECONDS,
    'membership-removed': NOTICE_TTL_SECONDS,
  }
  if (Date.now() - job.created_at.getTime() > lifetimes[mail.template] * 1000)
    throw new Expired('the email could not be sent in time')
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
      if (open.expired) throw new Expired('the invitation could not be sent in time')
      if (open.bounced) {
        // The tenant learns it from the list of its invitations, as if SES had reported it now.
        await recordBounce(database.sql, { jobId: job.id, address: open.email, cause: 'suppressed' })
        return null
      }
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
