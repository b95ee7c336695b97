import type { EmailMessage } from '#shared/mail/email-message.ts'

// The token follows the #, so that it is in no server log and no Referer header. The page sends it in a request body.
const link = (webBaseUrl: string, page: string, token: string): string => `${webBaseUrl}/${page}#token=${token}`

function formatTime(at: Date, timeZone: string): string {
  const format = (zone: string) =>
    new Intl.DateTimeFormat('en-US', { dateStyle: 'long', timeStyle: 'short', timeZone: zone }).format(at)
  try {
    return `${format(timeZone)} (${timeZone})`
  } catch {
    return `${format('UTC')} (UTC)`
  }
}

interface TokenMail {
  readonly to: string
  readonly expiresAt: Date
  readonly token: string
  readonly webBaseUrl: string
}

export interface InvitationMail extends TokenMail {
  readonly shop: string
  readonly inviter: string | null
  readonly role: string
  readonly timeZone: string
}

// A mail program shows subject and first paragraph in its list. They name the shop and a verified address, and no text that a
// user chose: the platform signs the mail.
export const invitation = (mail: InvitationMail): EmailMessage => ({
  to: mail.to,
  subject: mail.inviter === null ? `You are invited to ${mail.shop}` : `${mail.inviter} invites you to ${mail.shop}`,
  paragraphs: [
    `${mail.inviter === null ? 'You are invited' : `${mail.inviter} invites you`} to work in ${mail.shop}.`,
    `Your role will be: ${mail.role}. The invitation is open until ${formatTime(mail.expiresAt, mail.timeZone)}.`,
  ],
  action: { label: 'Accept the invitation', url: link(mail.webBaseUrl, 'invitation', mail.token) },
  closing: 'If you did not expect this, ignore it: nothing happens without the link.',
})

export const passwordReset = (mail: TokenMail): EmailMessage => ({
  to: mail.to,
  subject: 'Set a new password',
  paragraphs: [
    'Somebody asked to set a new password for this address.',
    `The link works once, until ${formatTime(mail.expiresAt, 'UTC')}.`,
  ],
  action: { label: 'Set a new password', url: link(mail.webBaseUrl, 'reset-password', mail.token) },
  closing: 'If it was not you, ignore this: your password stays as it is.',
})

export const emailVerification = (mail: TokenMail): EmailMessage => ({
  to: mail.to,
  subject: 'Confirm your email address',
  paragraphs: ['Confirm that this is your address.', `The link works until ${formatTime(mail.expiresAt, 'UTC')}.`],
  action: { label: 'Confirm the address', url: link(mail.webBaseUrl, 'verify-email', mail.token) },
})

export const passwordChanged = (mail: { to: string; webBaseUrl: string }): EmailMessage => ({
  to: mail.to,
  subject: 'Your password was changed',
  paragraphs: ['The password of your account was changed, and your other sessions were ended.'],
  action: { label: 'If it was not you, set a new one', url: `${mail.webBaseUrl}/forgot-password` },
})

export const membershipAdded = (mail: Pick<InvitationMail, 'to' | 'shop' | 'role' | 'webBaseUrl'>): EmailMessage => ({
  to: mail.to,
  subject: `You were added to ${mail.shop}`,
  paragraphs: [`You now work in ${mail.shop}.`, `Your role is: ${mail.role}.`],
  action: { label: 'Sign in', url: `${mail.webBaseUrl}/` },
})

export const membershipRemoved = (mail: { to: string; shop: string }): EmailMessage => ({
  to: mail.to,
  subject: `You were removed from ${mail.shop}`,
  paragraphs: [`You no longer work in ${mail.shop}, and your sessions there were ended.`],
})
