import type { Notice } from '#web/notices.ts'

export const common = {
  skip: 'Skip to the content',
  optional: '(optional)',
  errorPrefix: 'Error:',
  errorSummary: 'There is a problem',
  pages: 'Pages of the list',
  firstPage: 'First page',
  nextPage: 'Next page',
  cancel: 'Cancel',
  language: 'Language',
  signOut: 'Sign out',
  switchShop: 'Switch shop',
  shopPages: 'Pages of the shop',
  unknown: 'Unknown',
  filter: 'Find',
}

/** Pages of the shop: the label of the link, and what the page is for. */
export const navigation = {
  start: { label: 'Overview', purpose: 'Your shop and your role.' },
  members: { label: 'Members', purpose: 'Who works in the shop, and in which role.' },
  invitations: { label: 'Invitations', purpose: 'Invite people, and see who has not accepted yet.' },
  roles: { label: 'Roles', purpose: 'What each role may do. Add roles of your own.' },
  vendors: { label: 'Vendor accounts', purpose: 'Connect vendors, and sync their catalogs.' },
  settings: { label: 'Settings', purpose: 'Name, time zone and currency of the shop.' },
  auditLog: { label: 'Audit log', purpose: 'Who did what, and when.' },
}

export const notices: Record<Notice, string> = {
  'signed-out': 'You are signed out.',
  'session-ended': 'Your session has ended. Sign in again.',
  'shop-switched': 'You switched to another shop.',
  'sign-in-with-password': 'You can sign in with your password.',
  'email-verified': 'Your email address is verified.',
  'reset-requested': 'If the address has an account, a mail with a link is on its way. Look in the spam folder, too.',
  'verification-sent': 'A mail with a new link is on its way.',
  'role-changed': 'The role was changed. It applies from the next click.',
  'member-removed': 'The person was removed from the shop.',
  'invitation-sent': 'The invitation is on its way.',
  'invitation-cancelled': 'The invitation was cancelled.',
  'role-created': 'The role was added.',
  'role-updated': 'The role was saved.',
  'role-deleted': 'The role was deleted.',
  'vendor-connected': 'The vendor accepted the credentials. The account is connected.',
  'vendor-unverified': 'The account is stored. The vendor could not be reached, so we verify it later.',
  'vendor-secret-replaced': 'The secret was replaced.',
  'vendor-verified': 'The vendor accepted the credentials.',
  'vendor-refused': 'The vendor refused the credentials. Replace the secret.',
  'vendor-revoked': 'The account was revoked, and its secret erased.',
  'sync-active': 'A sync of this vendor is running already. This is how far it is.',
  'settings-saved': 'The settings were saved.',
  'mail-language-changed': 'The language of your mails was changed.',
  'password-changed': 'The password was changed. Your other sessions have ended.',
  'other-session-ended': 'The session was ended.',
  'other-sessions-ended': 'Your other sessions were ended.',
}

/** The pages of refusals and failures. */
export const failures = {
  invalid: { title: 'This request is not valid', text: 'Go back, reload the page and try again.' },
  forbidden: {
    title: 'You cannot do this',
    text: 'Your role may not allow it, or the page was open for too long. Go back, reload the page and try again.',
  },
  notFound: { title: 'Page not found', text: 'Check the address, or begin at the start page.' },
  method: { title: 'This address does not accept that', text: 'Begin at the start page.' },
  tooLarge: { title: 'The form is too large', text: 'Go back and enter less text.' },
  mediaType: { title: 'This form was not sent by a browser', text: 'Go back, reload the page and try again.' },
  refused: { title: 'This was not done', text: 'Go back, reload the page and try again.' },
  tooMany: { title: 'Too many attempts', text: (wait: string) => `Try again in ${wait}.` },
  unavailable: {
    title: 'The service is not available',
    text: 'Nothing is wrong with your session. Wait a few seconds and load the page again.',
  },
  internal: { title: 'Something went wrong', text: 'We have recorded the failure. Try again later.' },
  home: 'Go to the start page',
  reference: (id: string) => `Reference for support: ${id}`,
}

/** What the API says of a field. `label` is the field, as the form names it. */
export const refusals = {
  required: 'Enter a value.',
  invalid: 'Enter a valid value.',
  email: 'Enter an email address, such as name@example.com.',
  tooShort: (count: string) => `Enter at least ${count} characters.`,
  tooLong: (count: string) => `Enter at most ${count} characters.`,
  noVisibleCharacter: 'Enter at least one visible character.',
  likeKnown: (count: string) =>
    `Enter at least ${count} characters besides your email address, your name or your shop's name.`,
  common: 'Many people use this. Choose something less common.',
  guessable: 'This is too easy to guess. Choose something longer.',
  breached: 'This appeared in a data breach. Choose another one.',
  personName: 'Enter a name, without web or email addresses and long numbers.',
  oneLine: 'Enter one line of text.',
}

/** What the API says of a whole request. */
export const problems = {
  other: 'This was not done. Reload the page and try again.',
  'token-invalid': 'This link is invalid or has expired.',
  'already-member': 'This person is a member of the shop already.',
  'role-exists': 'The shop has a role of this code already.',
  'role-in-use': 'Members or invitations use this role.',
  'role-limit': 'The shop has as many roles as it may have.',
  'last-owner': 'A shop needs at least one owner.',
  'sync-active': 'A sync is running already.',
  'vendor-rejected': 'The vendor refused these credentials.',
  'currency-in-use': 'Prices use the currency, so it cannot be changed.',
  'rate-limited': (wait: string) => `Too many attempts. Try again in ${wait}.`,
}
