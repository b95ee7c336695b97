import type { EmailMessage } from '#shared/mail/email-message.ts'
import { MAIL_TEXTS } from '#shared/mail/texts.ts'
import type { Language } from '#shared/schema/language.ts'

// The front end moves the token from the query to a cookie before it shows a page. So it works without a script, and no page,
// Referer or access log contains it.
const link = (webBaseUrl: string, page: string, token: string): string => `${webBaseUrl}/${page}?token=${token}`

const LOCALES: Readonly<Record<Language, string>> = { en: 'en-US', es: 'es' }

function formatTime(at: string, timeZone: string, language: Language): string {
  const format = (zone: string) =>
    new Intl.DateTimeFormat(LOCALES[language], { dateStyle: 'long', timeStyle: 'short', timeZone: zone }).format(
      new Date(at),
    )
  try {
    return `${format(timeZone)} (${timeZone})`
  } catch {
    return `${format('UTC')} (UTC)`
  }
}

/** Who gets an email, and in which language. */
export interface Recipient {
  readonly to: string
  readonly language: Language
}

interface TokenMail extends Recipient {
  readonly expiresAt: string
  readonly token: string
  readonly webBaseUrl: string
}

export interface InvitationMail extends TokenMail {
  readonly shop: string
  readonly inviter: string | null
  readonly role: string
  readonly timeZone: string
}

type Words = ReturnType<(typeof MAIL_TEXTS)[Language][keyof (typeof MAIL_TEXTS)[Language]]>

const emailOf = ({ to, language }: Recipient, { label, ...words }: Words, url?: string): EmailMessage => ({
  to,
  language,
  ...words,
  ...(label === undefined || url === undefined ? {} : { action: { label, url } }),
})

export const invitation = (mail: InvitationMail): EmailMessage => {
  const { language, expiresAt, timeZone, webBaseUrl, token } = mail
  const words = MAIL_TEXTS[language].invitation({ ...mail, until: formatTime(expiresAt, timeZone, language) })
  return emailOf(mail, words, link(webBaseUrl, 'invitation', token))
}

export const passwordReset = (mail: TokenMail): EmailMessage => {
  const { language, expiresAt, webBaseUrl, token } = mail
  const words = MAIL_TEXTS[language].passwordReset({ until: formatTime(expiresAt, 'UTC', language) })
  return emailOf(mail, words, link(webBaseUrl, 'reset-password', token))
}

export const emailVerification = (mail: TokenMail): EmailMessage => {
  const { language, expiresAt, webBaseUrl, token } = mail
  const words = MAIL_TEXTS[language].emailVerification({ until: formatTime(expiresAt, 'UTC', language) })
  return emailOf(mail, words, link(webBaseUrl, 'verify-email', token))
}

export const passwordChanged = (mail: Recipient & { webBaseUrl: string }): EmailMessage =>
  emailOf(mail, MAIL_TEXTS[mail.language].passwordChanged(), `${mail.webBaseUrl}/forgot-password`)

export const membershipAdded = (mail: Recipient & Pick<InvitationMail, 'shop' | 'role' | 'webBaseUrl'>): EmailMessage =>
  emailOf(mail, MAIL_TEXTS[mail.language].membershipAdded(mail), `${mail.webBaseUrl}/`)

export const membershipRemoved = (mail: Recipient & Pick<InvitationMail, 'shop'>): EmailMessage =>
  emailOf(mail, MAIL_TEXTS[mail.language].membershipRemoved(mail))
