import * as v from 'valibot'
import { readInTenant, type TenantTransaction } from '#shared/db/scope.ts'
import type { EmailMessage } from '#shared/mail/email-message.ts'
import * as templates from '#shared/mail/templates.ts'
import type { LeasedJob } from '#shared/queue/queries.ts'
import { mailTokens } from '#shared/token/token.ts'
import type { Runtime } from './job.ts'
import {
  findExpiry,
  findOpenInvitation,
  findUserContact,
  findMembershipContact,
  putToken,
  type UserContact,
} from './queries.ts'

const Id = v.pipe(v.string(), v.uuid())
const Nonce = v.pipe(v.string(), v.minLength(16))

const Payload = v.variant('template', [
  v.object({ template: v.literal('invitation'), invitation_id: Id, nonce: Nonce }),
  v.object({ template: v.literal('password-reset'), email: v.string(), nonce: Nonce }),
  v.object({ template: v.literal('email-verification'), user_id: Id, nonce: Nonce }),
  v.object({ template: v.literal('password-changed'), user_id: Id }),
  v.object({ template: v.literal('membership-added'), user_id: Id }),
  v.object({ template: v.literal('membership-removed'), user_id: Id }),
])

/** The job's payload is not one that this version knows. Trying again does not help. */
export class UnknownMail extends Error {
  override name = 'UnknownMail'
}

/** The letter of a mail job as things stand now, or null when there is nobody, or no longer a reason, to write to. */
export async function compose(runtime: Runtime, job: LeasedJob): Promise<EmailMessage | null> {
  const { config, database } = runtime
  const parsed = v.safeParse(Payload, job.payload)
  if (!parsed.success) throw new UnknownMail('the payload of a mail job does not parse')
  const mail = parsed.output
  const { webBaseUrl } = config.mail
  const inTenant = <T>(read: (sql: TenantTransaction) => Promise<T>): Promise<T> => {
    if (job.tenant_id === null) throw new UnknownMail(`${mail.template} is a tenant's`)
    return readInTenant(database, job.tenant_id, read)
  }
  const withToken = async (
    { id: userId, email: to }: UserContact,
    purpose: 'password_reset' | 'email_verify',
    nonce: string,
    ttlSeconds: number,
  ) => {
    const [present, ...others] = mailTokens(runtime, purpose, nonce)
    // An earlier try may have stored and sent it by keys that were changed since.
    for (const { token, hash } of others) {
      const expiresAt = await findExpiry(database.sql, hash)
      if (expiresAt !== null) return { to, expiresAt, token, webBaseUrl }
    }
    const expiresAt = await putToken(database.sql, { hash: present.hash, purpose, userId, ttlSeconds })
    return { to, expiresAt, token: present.token, webBaseUrl }
  }

  switch (mail.template) {
    case 'invitation': {
      const open = await inTenant((sql) => findOpenInvitation(sql, mail.invitation_id))
      const token = mailTokens(runtime, 'invite', mail.nonce).find(({ hash }) => open?.token_hash.equals(hash))?.token
      // Another token is the invitation's by now, which has a mail of its own.
      if (open === null || token === undefined) return null
      const { email: to, shop, inviter, role, expires_at: expiresAt, timezone: timeZone } = open
      return templates.invitation({ to, shop, inviter, role, expiresAt, timeZone, token, webBaseUrl })
    }
    case 'password-reset': {
      const recipient = await findUserContact(database.sql, { email: mail.email })
      if (recipient === null) return null
      return templates.passwordReset(await withToken(recipient, 'password_reset', mail.nonce, config.reset.ttlSeconds))
    }
    case 'email-verification': {
      const recipient = await findUserContact(database.sql, { id: mail.user_id })
      if (recipient === null || recipient.email_verified_at !== null) return null
      return templates.emailVerification(
        await withToken(recipient, 'email_verify', mail.nonce, config.verify.ttlSeconds),
      )
    }
    case 'password-changed': {
      const recipient = await findUserContact(database.sql, { id: mail.user_id })
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
