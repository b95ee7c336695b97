import * as v from 'valibot'

/** A user as the API shows it. Nothing else of the row ever leaves. */
export interface User {
  readonly id: string
  readonly email: string
  readonly email_verified_at: Date | null
  readonly full_name: string | null
  readonly avatar_url: string | null
}

/**
 * An email address as it is accepted: printable ASCII (Amazon SES accepts no other local part), at most 254 characters
 * (RFC 5321, 4.5.3.1.3). Compared without regard to case, here by `emailKey` and in the database by the collation.
 */
export const Email = v.pipe(
  v.string('must be a string'),
  v.maxLength(254, 'must have at most 254 characters'),
  v.regex(/^[!-?A-~]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]*\.)*[A-Za-z0-9-]*[A-Za-z0-9]$/, 'must be an email address'),
)

/** The form of an address under which attempts on it are counted: equal for addresses that are one account. */
export const emailKey = (email: string): string => email.toLowerCase()
