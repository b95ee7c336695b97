import type { Language } from '#shared/schema/language.ts'
import { account } from '#web/texts/account.ts'
import { apiKeys } from '#web/texts/api-keys.ts'
import { auditPage } from '#web/texts/audit-page.ts'
import { forgotPassword } from '#web/texts/forgot-password.ts'
import { invitation } from '#web/texts/invitation.ts'
import { invitations } from '#web/texts/invitations.ts'
import { link } from '#web/texts/link.ts'
import { members } from '#web/texts/members.ts'
import { otherShop } from '#web/texts/other-shop.ts'
import { resetPassword } from '#web/texts/reset-password.ts'
import { roles } from '#web/texts/roles.ts'
import { sessions } from '#web/texts/sessions.ts'
import { secondFactor } from '#web/texts/second-factor.ts'
import { settings } from '#web/texts/settings.ts'
import { shops } from '#web/texts/shops.ts'
import { signIn } from '#web/texts/sign-in.ts'
import { start } from '#web/texts/start.ts'
import { sync } from '#web/texts/sync.ts'
import { vendors } from '#web/texts/vendors.ts'
import { verifyEmail } from '#web/texts/verify-email.ts'
import type { About, NoticeText } from '#web/texts/notice-text.ts'
import * as enCommon from '#web/texts/en/common.ts'
import * as esCommon from '#web/texts/es/common.ts'

/** The texts of the pages by subject. The Spanish of a subject has the type of its English: a missing text does not compile. */
const SUBJECTS = {
  account,
  apiKeys,
  auditLog: auditPage,
  forgotPassword,
  invitation,
  invitations,
  link,
  members,
  otherShop,
  resetPassword,
  roles,
  secondFactor,
  sessions,
  settings,
  shops,
  signIn,
  start,
  sync,
  vendors,
  verifyEmail,
}

type Subjects = { readonly [Name in keyof typeof SUBJECTS]: (typeof SUBJECTS)[Name]['en'] }

/** A subject whose texts have this part. */
type With<Part extends string> = {
  [Name in keyof Subjects]: Subjects[Name] extends { readonly [P in Part]: unknown } ? Name : never
}[keyof Subjects]

/** A subject that the navigation of a shop can lead to: `navigation` of its texts has the label and what the page is for. */
export type NavigationName = With<'navigation'>

/** The code of a notice that a page may show after a redirect: a key of `notices` of any subject. */
export type Notice = { [Name in With<'notices'>]: keyof Subjects[Name]['notices'] }[With<'notices'>]

/** The notices that say what was not done. They look like a refusal. */
export const REFUSALS: ReadonlySet<Notice> = new Set([
  'second-factor-required',
  'draft-expired',
  'sign-in-expired',
  'no-factor-to-reset',
])

/** A notice, and what it names. */
export interface GivenNotice {
  readonly code: Notice
  readonly about: Partial<About>
}

const common = { ...enCommon }

/** Every text of the pages in one language. */
export type Texts = Subjects & typeof common & { readonly notices: Readonly<Record<Notice, NoticeText>> }

function textsOf(language: Language, others: typeof common): Texts {
  const subjects = Object.fromEntries(Object.entries(SUBJECTS).map(([name, texts]) => [name, texts[language]]))
  const notices = Object.assign({}, ...Object.values(subjects).map((texts) => Reflect.get(texts, 'notices')))
  return { ...others, ...subjects, notices } as Texts
}

export const TEXTS: Readonly<Record<Language, Texts>> = {
  en: textsOf('en', common),
  es: textsOf('es', { ...esCommon }),
}
