import { shownEmail } from '#shared/schema/shown-email.ts'
import { isPermission, PERMITTED } from '#shared/identity/permissions.ts'
import { roleName } from '#shared/identity/role-names.ts'
import { shopName } from '#shared/identity/shop-name.ts'
import type { EmailMessage } from '#shared/mail/email-message.ts'
import { mailTemplates } from '#shared/mail/templates.ts'
import { UnreadableJob } from '#shared/queue/drain.ts'
import type { JobPayload } from '#shared/queue/kinds.ts'
import type { LeasedJob } from '#shared/queue/queries.ts'
import { mailTokens, type TokenPurpose } from '#shared/identity/token.ts'
import { setupCodes } from '#shared/factor/code.ts'
import { remail } from './remail.ts'
import { replyTo } from './sender.ts'
import type { Runtime } from './worker.ts'
import {
  announceSecondFactor,
  type DepartureContact,
  findDeparture,
  findInvitation,
  findKeyMail,
  findMembership,
  findUser,
  issueToken,
  type MembershipContact,
} from './queries.ts'

// For emails without a token.
const NOTICE_TTL_SECONDS = 7 * 86_400
const SETUP_CODE_TTL_SECONDS = 600
// A reset may wait for an operator. A link of one that has ended does nothing.
const CANCEL_LINK_TTL_SECONDS = 30 * 86_400

/** The time in which the email had to be sent is over. */
export class Expired extends Error {
  override name = 'Expired'
}

/**
 * Returns the email of a mail job as of now, or null when there is no recipient, or no reason to write any more. Throws Expired
 * when it comes too late.
 */
export async function compose(runtime: Runtime, job: LeasedJob<JobPayload<'mail'>>): Promise<EmailMessage | null> {
  const { config } = runtime
  const { sql } = runtime.database
  const { payload: mail } = job
  const lifetimes: Readonly<Record<typeof mail.template, number>> = {
    // Until the invitation expires, which is stored with it.
    invitation: Infinity,
    'password-reset': config.reset.ttlSeconds,
    'email-verification': config.verify.ttlSeconds,
    'password-changed': NOTICE_TTL_SECONDS,
    'second-factor': NOTICE_TTL_SECONDS,
    'second-factor-setup': SETUP_CODE_TTL_SECONDS,
    'api-key': NOTICE_TTL_SECONDS,
    'second-factor-policy': NOTICE_TTL_SECONDS,
    'second-factor-required': NOTICE_TTL_SECONDS,
    'second-factor-reset': CANCEL_LINK_TTL_SECONDS,
    'new-sign-in': NOTICE_TTL_SECONDS,
    'membership-added': NOTICE_TTL_SECONDS,
    'membership-removed': NOTICE_TTL_SECONDS,
    'role-changed': NOTICE_TTL_SECONDS,
    'invitation-accepted': NOTICE_TTL_SECONDS,
    'member-left': NOTICE_TTL_SECONDS,
  }
  if (Date.now() - Date.parse(job.created_at) > lifetimes[mail.template] * 1000)
    throw new Expired('the email could not be sent in time')
  const requireTenant = () => {
    if (job.tenant_id === null) throw new UnreadableJob(`the mail ${mail.template} needs a tenant`)
  }
  const membership = (): Promise<MembershipContact | null> => {
    requireTenant()
    return findMembership(sql, job)
  }
  const withToken = async (purpose: Exclude<TokenPurpose, 'invite'>, nonce: string) => {
    // The caller that adds a job chooses its nonce. The database chooses its id. So no other mail has the token of this one.
    // An earlier attempt may have stored and sent a token before the pepper or the mail key was changed.
    const tokens = mailTokens(runtime, purpose, `${job.id} ${nonce}`)
    const issued = await issueToken(sql, job, tokens, lifetimes[mail.template])
    const token = tokens[(issued?.token ?? 0) - 1]?.token
    if (issued === null || token === undefined) return null
    return { to: issued, link: { expiresAt: issued.expires_at, token } }
  }
  const templates = mailTemplates({
    platform: config.platform,
    webBaseUrl: config.mail.webBaseUrl,
    replyTo: replyTo(config)[0] ?? null,
  })
  const time = job.created_at

  switch (mail.template) {
    case 'invitation': {
      requireTenant()
      const tokens = mailTokens(runtime, 'invite', mail.nonce)
      const open = await findInvitation(sql, job, tokens)
      const token = tokens[(open?.token ?? 0) - 1]?.token
      // Without a token, the invitation was renewed. Its new token has an email of its own.
      if (open === null || token === undefined) return null
      if (open.expired) throw new Expired('the invitation could not be sent in time')
      const { inviter, expires_at: expiresAt } = open
      const shop = shopName(open)
      return templates.invitation(open, {
        shop,
        inviter: inviter && shownEmail(inviter),
        role: roleOf(open),
        expiresAt,
        token,
      })
    }
    case 'password-reset': {
      const issued = await withToken('password_reset', mail.nonce)
      if (issued === null) await remail(runtime, job, mail.email)
      return issued === null ? null : templates.passwordReset(issued.to, issued.link)
    }
    case 'email-verification': {
      const issued = await withToken('email_verify', mail.nonce)
      return issued === null ? null : templates.emailVerification(issued.to, issued.link)
    }
    case 'password-changed': {
      const user = await findUser(sql, job)
      return user === null ? null : templates.passwordChanged(user, { time, device: mail.device ?? null })
    }
    case 'second-factor': {
      const user = await findUser(sql, job)
      return user === null ? null : templates.secondFactor(user, { change: mail.change, time })
    }
    case 'second-factor-setup': {
      const codes = setupCodes(runtime, mail.user_id, `${job.id} ${mail.nonce}`)
      const issued = await issueToken(sql, job, codes, SETUP_CODE_TTL_SECONDS)
      const code = codes[(issued?.token ?? 0) - 1]?.token
      return issued === null || code === undefined ? null : templates.secondFactorSetup(issued, { code })
    }
    case 'api-key': {
      requireTenant()
      const found = await findKeyMail(sql, job)
      if (found === null) return null
      const may = found.permissions.map((each) => (isPermission(each) ? PERMITTED[each][found.language] : each))
      return templates.apiKey(found, {
        reason: mail.reason,
        shop: shopName(found),
        slug: found.slug,
        name: found.name,
        may: may.join(', '),
        maker: shownEmail(found.maker),
        expiresAt: found.expires_at,
      })
    }
    case 'second-factor-policy': {
      await announceSecondFactor(sql, job)
      return null
    }
    case 'second-factor-required': {
      const place = await membership()
      const from = place?.second_factor_from ?? null
      return place === null || from === null
        ? null
        : templates.secondFactorRequired(place, { shop: shopName(place), from })
    }
    case 'second-factor-reset': {
      const issued = await withToken('factor_reset_cancel', mail.nonce)
      return issued === null
        ? null
        : templates.secondFactorReset(issued.to, { ...issued.link, time: mail.effective_at })
    }
    case 'new-sign-in': {
      const user = await findUser(sql, job)
      return user === null ? null : templates.newSignIn(user, { time, device: mail.device })
    }
    case 'membership-added': {
      const place = await membership()
      return place === null ? null : templates.membershipAdded(place, { shop: shopName(place), role: roleOf(place) })
    }
    case 'membership-removed': {
      const place = await membership()
      return place === null ? null : templates.membershipRemoved(place, { shop: shopName(place), time })
    }
    case 'role-changed': {
      const place = await membership()
      return place === null ? null : templates.roleChanged(place, { shop: shopName(place), role: roleOf(place), time })
    }
    case 'member-left': {
      const place = await findDeparture(sql, job)
      return place === null ? null : templates.memberLeft(place, { ...memberOf(place), time })
    }
    case 'invitation-accepted': {
      const place = await membership()
      return place === null ? null : templates.invitationAccepted(place, memberOf(place))
    }
  }
}

/** What a mail tells somebody else of a member. */
const memberOf = (place: DepartureContact) => ({
  shop: shopName(place),
  slug: place.slug,
  role: roleOf(place),
  member: shownEmail(place.member),
})

/** What the recipient calls the role. */
const roleOf = (place: Pick<MembershipContact, 'language' | 'role' | 'role_code'>): string =>
  roleName(place.language, { code: place.role_code, label: place.role })
