import type { EmailMessage } from '#shared/mail/email-message.ts'
import { FACTOR_CHANGES } from '#shared/queue/kinds.ts'
import { mailTemplates } from '#shared/mail/templates.ts'

const TOKEN = 'x'.repeat(43)
const SHOP = `${'Incorporated Embroidery '.repeat(5)}(incorporated-embroidery-of-the-northwest)`

/** Returns each kind of mail in each language, with long names, by what it is. */
export function everyMail(): [name: string, mail: EmailMessage][] {
  const templates = mailTemplates({
    platform: {
      name: 'Prints & Company of the Pacific Northwest',
      supportUrl: 'mailto:help@prints.test',
      privacyUrl: 'https://prints.test/privacy',
    },
    webBaseUrl: 'https://office.prints-and-company.test',
    replyTo: 'help@prints.test',
  })
  return (['en', 'es'] as const).flatMap((language) => {
    const to = {
      email: `${'ann.archer'.repeat(6)}@embroidery.test`,
      language,
      timezone: 'America/New_York',
      full_name: 'Ann Archer of the Incorporated Embroidery of the Northwest',
    }
    const link = { token: TOKEN, expiresAt: new Date(Date.now() + 3_600_000).toISOString() }
    const time = '2026-11-27T06:12:00Z'
    const mails = {
      invitation: templates.invitation(to, {
        ...link,
        shop: SHOP,
        inviter: `${'owner'.repeat(12)}@embroidery.test`,
        role: 'Account Manager',
      }),
      'password-reset': templates.passwordReset(to, link),
      'email-verification': templates.emailVerification(to, link),
      'password-changed': templates.passwordChanged(to, { time, device: { browser: 'Chrome', system: 'Windows' } }),
      ...Object.fromEntries(
        FACTOR_CHANGES.map((change) => [`second-factor ${change}`, templates.secondFactor(to, { change, time })]),
      ),
      'second-factor-setup': templates.secondFactorSetup(to, { code: '4TQ7-92KM' }),
      'second-factor-required': templates.secondFactorRequired(to, { shop: SHOP, from: '2222-11-27T06:12:00Z' }),
      'second-factor-required now': templates.secondFactorRequired(to, { shop: SHOP, from: time }),
      'second-factor-reset': templates.secondFactorReset(to, { ...link, time }),
      'second-factor-reset that waits': templates.secondFactorReset(to, { ...link, time: null }),
      'new-sign-in': templates.newSignIn(to, { time, device: { browser: 'Firefox', system: 'macOS' } }),
      'membership-added': templates.membershipAdded(to, { shop: SHOP, role: 'Account Manager' }),
      'role-changed': templates.roleChanged(to, { shop: SHOP, role: 'Account Manager', time }),
      'invitation-accepted': templates.invitationAccepted(to, {
        shop: SHOP,
        slug: 'incorporated-embroidery-of-the-northwest',
        role: 'Account Manager',
        member: `${'designer'.repeat(7)}@embroidery.test`,
      }),
      'member-left': templates.memberLeft(to, {
        shop: SHOP,
        slug: 'incorporated-embroidery-of-the-northwest',
        role: 'Account Manager',
        member: `${'designer'.repeat(7)}@embroidery.test`,
        time,
      }),
      'membership-removed': templates.membershipRemoved(to, { shop: SHOP, time }),
    }
    return Object.entries(mails).map(([kind, mail]): [string, EmailMessage] => [`${kind} (${language})`, mail])
  })
}
