import type { FieldErrorTexts, ProblemTexts } from '#web/texts/refused.ts'

export const common = {
  skip: 'Skip to the content',
  optional: '(optional)',
  errorPrefix: 'Error:',
  errorSummary: 'There is a problem',
  pages: 'Pages of the list',
  firstPage: 'First page',
  previousPage: 'Previous page',
  nextPage: 'Next page',
  show: 'Show',
  hide: 'Hide',
  working: 'Working…',
  cancel: 'Cancel',
  back: 'Back',
  account: 'Account',
  support: 'Help',
  privacy: 'Privacy',
  accessibility: 'Accessibility',
  language: 'Language',
  signOut: 'Sign out',
  switchShop: 'Switch shop',
  shopPages: 'Pages of the shop',
  unknown: 'Unknown',
  filter: 'Show',
}

/** The pages of refusals and failures. */
export const failures = {
  invalid: { title: 'This request is not valid', text: 'Go back, reload the page and try again.' },
  forbidden: {
    title: 'You cannot do this',
    text: 'Your role does not allow it. Ask an owner or an admin of your shop.',
  },
  foreign: {
    title: 'This was not sent from our page',
    text: 'Nothing was done. Open the page again, and send it from there.',
  },
  noCookies:
    'This page was open for too long, or your browser keeps no cookies for this site. Nothing was done. Allow cookies, and send it again.',
  noCookiesOverHttp: 'Safari keeps none over http: on this machine, use another browser.',
  openTooLong: 'This page was open for too long. Nothing was done. Send it again.',
  otherPerson: (email: string) =>
    `You are signed in as ${email} now. Somebody else filled in this form. Nothing was done.`,
  notDone: 'This was not done yet. Check it, and send it again.',
  notKept: 'This was not done, and it was too long to be kept. Enter it again.',
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

const required = 'Fill this in.'
const invalid = 'Enter a valid value.'

/** What the API says of a field. Codes that no form of ours causes share a text. */
export const fieldErrors: FieldErrorTexts = {
  required,
  empty: required,
  invalid,
  'unknown-field': invalid,
  repeated: invalid,
  'wrong-type': invalid,
  'wrong-format': invalid,
  'not-a-choice': 'Choose one of the list.',
  'too-long': ({ max }) => `Enter at most ${max} characters.`,
  'too-short': ({ min }) => `Enter at least ${min} characters.`,
  'too-many': ({ max }) => `Choose at most ${max}.`,
  'too-small': ({ min }) => `Enter ${min} or more.`,
  'too-large': ({ max }) => `Enter ${max} or less.`,
  'out-of-range': ({ min, max }) => `Enter a number from ${min} to ${max}.`,
  'not-storable': 'Some of these characters cannot be stored. Remove them.',
  'forbidden-character': 'Some of these characters are not allowed here. Remove them.',
  'not-one-line': 'Enter one line of text.',
  'not-an-email-address': 'Enter an email address, such as name@example.com.',
  'at-sign': 'A name has no @. Remove it.',
  slash: 'Remove the slash. A name has one only between two single letters, as in s/o.',
  'web-address': 'A name has no dot or colon within a word, as a web address does. Put a space after it.',
  'long-number': 'A name has no long number. Use at most six digits.',
  'not-a-file-name': 'Enter the name of a file, without a slash or a backslash.',
  'no-letter': 'Enter at least one letter.',
  unknown: 'This does not exist. Choose another one.',
  nonexistent: 'This does not exist any more. Choose another one.',
  duplicate: 'This is there twice.',
  'no-price': 'This has no price. Enter one.',
  'total-too-large': 'The total is too large.',
  'settings-too-large': invalid,
  'invalid-cursor': invalid,
  'wrong-password': 'This is not your current password.',
  'wrong-code': 'That code is wrong or was used already. Wait for the next one, and let your phone set its own time.',
  'wrong-passkey': 'The passkey did not work. Try again, or use a code.',
  'refused-by-vendor': 'The vendor did not accept this account number and key. Check both.',
  'no-visible-character': 'Enter at least one visible character.',
  'like-known': ({ min }) =>
    `Enter at least ${min} characters besides your email address, your name or your shop's name.`,
  common: 'Many people use this. Choose something less common.',
  guessable: 'This is too easy to guess. Choose something longer.',
  breached: 'This appeared in a data breach. Choose another one.',
}

/** What the API says of a whole request. */
export const problems: ProblemTexts = {
  other: 'This was not done. Reload the page and try again.',
  'malformed-json': 'This was not done. Reload the page and try again.',
  'token-invalid': 'This link is invalid or has expired.',
  'already-member': 'This person is a member of the shop already.',
  'invitations-stopped':
    'Too many invitations of the shop came back or were marked as spam, so nobody can be invited for now. Check the addresses, then write to our support.',
  'role-exists': 'The shop has a role of this code already.',
  'role-in-use': 'Members or invitations use this role.',
  'role-limit': 'The shop has as many roles as it may have.',
  'key-exists': 'A key of the shop has this name already.',
  'key-limit': 'The shop has as many keys as it may have. Revoke one that nobody needs.',
  'key-rotated': 'This key has a new secret already.',
  'key-ended': 'This key was revoked or has expired. Create another one.',
  'factor-limit': 'You have ten passkeys. Remove one first.',
  'passkey-exists': 'This passkey is in use already. Use it, or make another one.',
  'last-factor': 'One of your shops asks for a second step. Add another before you remove this one.',
  'sign-in-expired': 'That took too long. Enter your password again.',
  'draft-expired': 'This page was open too long. Start again.',
  'last-owner': 'A shop needs at least one owner. Make somebody else an owner first.',
  'vendor-unreachable': 'The vendor did not reply. Try again later.',
  'sync-active': 'A sync is running already.',
  'currency-in-use': 'Prices use the currency, so it cannot be changed.',
  'deal-locked': 'The deal cannot be changed any more.',
  'precondition-failed':
    'Somebody else saved this while your page was open. What they saved stands at each field that differs. Send it again to replace it.',
  'rate-limited': (wait) => `Too many attempts. Try again in ${wait}.`,
}
