import * as v from 'valibot'

const MAX_CODE_POINTS = 128

/** One password has one form, whatever keyboard it was typed on (NIST SP 800-63B-4, 3.1.1.2; RFC 8265). */
export const normalize = (password: string): string => password.normalize('NFKC')

/**
 * A password as it may be sent: well-formed, of bounded length, hence cheap to refuse. Half a surrogate pair would become
 * U+FFFD on the way to UTF-8, and with it two passwords one.
 */
export const SentPassword = v.pipe(
  v.string('must be a string'),
  v.nonEmpty('must not be empty'),
  v.maxLength(4 * MAX_CODE_POINTS, `must have at most ${MAX_CODE_POINTS} characters`),
  v.check((value) => value.isWellFormed(), 'must be well-formed Unicode'),
  v.examples(['seven green printing presses']),
)

/** What a new password is judged by. */
export interface PasswordSubject {
  readonly minLength: number
  /** The person's and the shop's names and addresses, none of which may be the password. */
  readonly known: readonly (string | null)[]
  /** Whether the password, in lower case, is on the list of common ones. */
  readonly isCommon: (lowerCase: string) => boolean
}

/** Why a normalised password is not acceptable, or null. No rule on its composition (OWASP ASVS 5.0, 6.2.5). */
export function weakness(password: string, subject: PasswordSubject): string | null {
  const length = Array.from(password).length
  if (length < subject.minLength) return `must have at least ${subject.minLength} characters`
  if (length > MAX_CODE_POINTS) return `must have at most ${MAX_CODE_POINTS} characters`
  const lowerCase = password.toLowerCase()
  if (subject.known.some((value) => value !== null && normalize(value).toLowerCase() === lowerCase)) {
    return 'must not be an email address, a name or a shop'
  }
  if (subject.isCommon(lowerCase)) return 'is too common'
  return null
}
