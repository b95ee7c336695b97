import { domainToASCII, domainToUnicode } from 'node:url'
import * as v from 'valibot'
import { fault } from '#shared/schema/fault.ts'

const EXAMPLE = 'ann@acme.example'
const MAX_CHARACTERS = 254

const ADDRESS =
  /^(?!.*=\?)(?!.*\.[0-9]+$)(?=.{1,64}@)[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/

const ASCII = /^[\0-\x7f]*$/

const splitAt = (email: string): [local: string, domain: string] => {
  const at = email.lastIndexOf('@') + 1
  return [email.slice(0, at), email.slice(at)]
}

/**
 * Returns an address with its domain as A-labels (IDNA, UTS 46). Returns the address itself when its domain is of ASCII letters, or is
 * not the usual spelling of a domain: fullwidth letters and invisible characters are no other way to write one.
 */
function withALabels(email: string): string {
  const [local, domain] = splitAt(email)
  if (ASCII.test(domain)) return email
  const ascii = domainToASCII(domain)
  return domainToUnicode(ascii) === domain.normalize('NFC').toLowerCase() ? `${local}${ascii}` : email
}

/** A stored email address, as responses show it. */
export const Address = v.pipe(v.string(), v.examples([EXAMPLE]))

/**
 * An email address in a request: a dot-atom of ASCII (RFC 5321, 4.1.2) and a domain of at least two labels, the last of which is no
 * number (RFC 3696, 2), at most 254 characters (4.5.3.1.3). A domain in its own letters becomes A-labels. An encoded word (RFC 2047) is
 * refused, because a mail program would show what it decodes to. The database ignores letter case when it compares addresses; its
 * domain app.email_address has the same form.
 */
export const Email = v.pipe(
  v.string(),
  v.maxLength(MAX_CHARACTERS),
  v.examples([EXAMPLE]),
  v.description('A dot-atom of ASCII and a domain, which may be in its own letters. It is stored with A-labels.'),
  v.transform(withALabels),
  v.check((email) => email.length <= MAX_CHARACTERS, fault({ code: 'too-long', max: MAX_CHARACTERS })),
  v.regex(ADDRESS, fault({ code: 'not-an-email-address' })),
)

/** Returns an address in the form that rate limits count. It is the same for every spelling of a user's address. */
export const normalizeEmail = (email: string): string => email.toLowerCase()

/** The domains of providers that ignore characters of the local part, each with the first of its names for one mailbox. */
const IGNORING: readonly { readonly domains: readonly string[]; readonly ignored: RegExp }[] = [
  // https://support.google.com/mail/answer/7436150
  { domains: ['gmail.com', 'googlemail.com'], ignored: /\./g },
  // https://proton.me/support/change-username
  { domains: ['proton.me', 'protonmail.com', 'protonmail.ch', 'pm.me'], ignored: /[._-]/g },
]

/**
 * Returns an address in the form that limits on a mailbox count: also without the `+tag`, which many providers ignore, and without what
 * the provider of the domain ignores. Mail goes to the address as it was typed.
 */
export function mailboxOf(email: string): string {
  const [local, domain] = splitAt(normalizeEmail(email).replace(/\+[^@]*@/, '@'))
  const provider = IGNORING.find(({ domains }) => domains.includes(domain))
  return provider === undefined ? `${local}${domain}` : `${local.replace(provider.ignored, '')}${provider.domains[0]}`
}
