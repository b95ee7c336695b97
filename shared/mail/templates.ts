import type { Device } from '#shared/schema/device.ts'
import type { EmailMessage } from '#shared/mail/email-message.ts'
import { COMMON_TEXTS } from '#shared/mail/common-texts.ts'
import { MAIL_TEXTS, type Words } from '#shared/mail/texts.ts'
import { timeIn, timeUntil } from '#shared/mail/times.ts'
import type { FactorChange, KeyReason } from '#shared/queue/kinds.ts'
import type { Language } from '#shared/schema/language.ts'
import { shownEmail } from '#shared/schema/shown-email.ts'

/** Who gets an email, in which language, and in which time zone it names times. */
export interface Recipient {
  readonly email: string
  readonly language: Language
  /** The time zone of the shop that it is about, or of the recipient's first one. Null: UTC. */
  readonly timezone: string | null
}

/** Somebody with an account. */
export interface UserContact extends Recipient {
  readonly full_name: string | null
}

interface Link {
  readonly expiresAt: string
  readonly token: string
}

/** The platform that writes. An empty address is none. */
interface Platform {
  readonly name: string
  readonly supportUrl: string
  readonly privacyUrl: string
}

/** An API key of a shop, and why somebody hears of it. */
interface KeyMail {
  readonly reason: KeyReason
  readonly shop: string
  readonly slug: string
  readonly name: string
  /** What it may do, in words. */
  readonly may: string
  readonly maker: string
  readonly expiresAt: string
}

/** Returns what the emails of a stage are made with. `replyTo` receives the replies; null is nobody. */
export function mailTemplates(stage: { platform: Platform; webBaseUrl: string; replyTo: string | null }) {
  const { platform, webBaseUrl, replyTo } = stage
  // The front end moves the token from the query to a cookie before it shows a page. So it works without a script, and no page,
  // Referer or access log contains it.
  const link = (page: string, { token }: Link): string => `${webBaseUrl}/${page}?token=${token}`

  const emailOf = (
    to: Recipient & { readonly full_name?: string | null },
    words: Words,
    url?: string,
  ): EmailMessage => {
    const { label, ...rest } = words
    const common = COMMON_TEXTS[to.language]
    const account = shownEmail(to.email)
    return {
      to: to.email,
      language: to.language,
      platform: platform.name,
      greeting: to.full_name ? common.greeting(to.full_name) : null,
      ...rest,
      ...(label === undefined || url === undefined ? {} : { action: { label, url, fallback: common.fallback } }),
      foot: [
        { text: common.sent(platform.name, account) },
        ...(platform.supportUrl === ''
          ? []
          : [
              replyTo === null
                ? { text: common.support, url: platform.supportUrl }
                : { text: common.supportBy(replyTo) },
            ]),
        ...(platform.privacyUrl === '' ? [] : [{ text: common.privacy, url: platform.privacyUrl }]),
      ],
    }
  }
  const open = ({ language, timezone }: Recipient, { expiresAt }: Link) => ({
    during: timeUntil(expiresAt, language),
    until: timeIn(expiresAt, timezone, language),
  })
  const at = ({ language, timezone }: Recipient, time: string) => timeIn(time, timezone, language)
  const accountOf = ({ email }: Recipient) => ({ account: shownEmail(email), platform: platform.name })

  return {
    /** To somebody who may have no account, so without their name. */
    /** Without a name: the recipient may have no account, and no shop learns whether they have one. */
    invitation: (to: Recipient, mail: Link & { shop: string; inviter: string | null; role: string }) =>
      emailOf(
        { ...to, full_name: null },
        MAIL_TEXTS[to.language].invitation({ ...mail, ...accountOf(to), ...open(to, mail) }),
        link('invitation', mail),
      ),
    passwordReset: (to: UserContact, mail: Link) =>
      emailOf(
        to,
        MAIL_TEXTS[to.language].passwordReset({ ...accountOf(to), ...open(to, mail) }),
        link('reset-password', mail),
      ),
    emailVerification: (to: UserContact, mail: Link) =>
      emailOf(
        to,
        MAIL_TEXTS[to.language].emailVerification({ ...accountOf(to), ...open(to, mail) }),
        link('verify-email', mail),
      ),
    passwordChanged: (to: UserContact, { time, device }: { time: string; device: Device | null }) =>
      emailOf(
        to,
        MAIL_TEXTS[to.language].passwordChanged({
          ...accountOf(to),
          at: at(to, time),
          by: device === null ? null : COMMON_TEXTS[to.language].device(device),
        }),
        `${webBaseUrl}/forgot-password`,
      ),
    secondFactor: (to: UserContact, { change, time }: { change: FactorChange; time: string }) =>
      emailOf(
        to,
        MAIL_TEXTS[to.language].secondFactor({ change, ...accountOf(to), at: at(to, time) }),
        `${webBaseUrl}/forgot-password`,
      ),
    secondFactorSetup: (to: UserContact, mail: { code: string }) =>
      emailOf(to, MAIL_TEXTS[to.language].secondFactorSetup({ ...mail, ...accountOf(to) })),
    apiKey: (to: UserContact, { slug, expiresAt, ...mail }: KeyMail) =>
      emailOf(
        to,
        MAIL_TEXTS[to.language].apiKey({ ...mail, ...accountOf(to), until: at(to, expiresAt) }),
        `${webBaseUrl}/s/${slug}/api-keys`,
      ),
    /** `from` is when the shop begins, or began, to ask. */
    secondFactorRequired: (to: UserContact, { shop, from }: { shop: string; from: string }) =>
      emailOf(
        to,
        MAIL_TEXTS[to.language].secondFactorRequired({
          shop,
          ...accountOf(to),
          from: at(to, from),
          asksNow: Date.parse(from) <= Date.now(),
        }),
        `${webBaseUrl}/account/second-factor`,
      ),
    /** `time` is when the reset takes effect. Null: an operator must confirm it first. */
    secondFactorReset: (to: UserContact, { time, ...mail }: Link & { time: string | null }) =>
      emailOf(
        to,
        MAIL_TEXTS[to.language].secondFactorReset({ ...accountOf(to), at: time === null ? null : at(to, time) }),
        link('cancel-reset', mail),
      ),
    newSignIn: (to: UserContact, { time, device }: { time: string; device: Device }) =>
      emailOf(
        to,
        MAIL_TEXTS[to.language].newSignIn({
          ...accountOf(to),
          at: at(to, time),
          by: COMMON_TEXTS[to.language].device(device),
        }),
        `${webBaseUrl}/forgot-password`,
      ),
    membershipAdded: (to: UserContact, mail: { shop: string; role: string }) =>
      emailOf(to, MAIL_TEXTS[to.language].membershipAdded({ ...mail, ...accountOf(to) }), `${webBaseUrl}/`),
    roleChanged: (to: UserContact, { time, ...mail }: { shop: string; role: string; time: string }) =>
      emailOf(
        to,
        MAIL_TEXTS[to.language].roleChanged({ ...mail, ...accountOf(to), at: at(to, time) }),
        `${webBaseUrl}/`,
      ),
    /** To who invited the member. */
    invitationAccepted: (
      to: UserContact,
      { slug, ...mail }: { shop: string; slug: string; role: string; member: string },
    ) =>
      emailOf(
        to,
        MAIL_TEXTS[to.language].invitationAccepted({ ...mail, ...accountOf(to) }),
        `${webBaseUrl}/s/${encodeURIComponent(slug)}/members`,
      ),
    /** To an owner of the tenant. */
    memberLeft: (
      to: UserContact,
      { slug, time, ...mail }: { shop: string; slug: string; role: string; member: string; time: string },
    ) =>
      emailOf(
        to,
        MAIL_TEXTS[to.language].memberLeft({ ...mail, ...accountOf(to), at: at(to, time) }),
        `${webBaseUrl}/s/${encodeURIComponent(slug)}/members`,
      ),
    membershipRemoved: (to: UserContact, { shop, time }: { shop: string; time: string }) =>
      emailOf(to, MAIL_TEXTS[to.language].membershipRemoved({ shop, ...accountOf(to), at: at(to, time) })),
  }
}
