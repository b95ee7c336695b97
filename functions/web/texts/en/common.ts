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
