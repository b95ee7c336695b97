import * as v from 'valibot'

const EXAMPLE = 'ann@acme.example'

/** A stored email address, as responses show it. */
export const Address = v.pipe(v.string(), v.examples([EXAMPLE]))

/**
 * An email address in a request: printable ASCII (Amazon SES accepts no other local part), at most 254 characters (RFC
 * 5321, 4.5.3.1.3). The database ignores letter case when it compares addresses.
 */
export const Email = v.pipe(
  v.string('must be a string'),
  v.maxLength(254, 'must have at most 254 characters'),
  v.regex(/^[!-?A-~]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]*\.)*[A-Za-z0-9-]*[A-Za-z0-9]$/, 'must be an email address'),
  v.examples([EXAMPLE]),
)

/** Returns an address in the form that rate limits count. It is the same for every spelling of a user's address. */
export const normalizeEmail = (email: string): string => email.toLowerCase()
