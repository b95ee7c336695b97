import * as v from 'valibot'
import { fault } from '#shared/schema/fault.ts'

const EXAMPLE = 'ann@acme.example'

const ADDRESS =
  /^(?!.*=\?)(?=.{1,64}@)[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/

/** A stored email address, as responses show it. */
export const Address = v.pipe(v.string(), v.examples([EXAMPLE]))

/**
 * An email address in a request: a dot-atom of ASCII (RFC 5321, 4.1.2) and a domain of at least two labels, at most 254
 * characters (4.5.3.1.3). An encoded word (RFC 2047) is refused, because a mail program would show what it decodes to. The
 * database ignores letter case when it compares addresses; its domain app.email_address has the same form.
 */
export const Email = v.pipe(
  v.string(),
  v.maxLength(254),
  v.regex(ADDRESS, fault({ code: 'not-an-email-address' })),
  v.examples([EXAMPLE]),
)

/** Returns an address in the form that rate limits count. It is the same for every spelling of a user's address. */
export const normalizeEmail = (email: string): string => email.toLowerCase()

/** Returns an address in the form that limits on a mailbox count: also without the `+tag`, which many providers ignore. */
export const mailboxOf = (email: string): string => normalizeEmail(email).replace(/\+[^@]*@/, '@')
