import * as v from 'valibot'

const MAX_CODE_POINTS = 128

/** Returns the NFKC form of a password, which is the same for every keyboard (NIST SP 800-63B-4, 3.1.1.2; RFC 8265). */
export const normalize = (password: string): string => password.normalize('NFKC')

/**
 * A password in a request. Its length is limited so that rejecting it is cheap. Lone surrogates are rejected because UTF-8
 * encodes each as U+FFFD, which would make different passwords equal.
 */
export const SentPassword = v.pipe(
  v.string('must be a string'),
  v.nonEmpty('must not be empty'),
  v.maxLength(4 * MAX_CODE_POINTS, `must have at most ${MAX_CODE_POINTS} characters`),
  v.check((value) => value.isWellFormed(), 'must be well-formed Unicode'),
  v.examples(['seven green printing presses']),
)

/** The rules for a new password. */
export interface PasswordRules {
  readonly minLength: number
  /** Names and addresses of the user and the tenant. The password must not equal one of them. */
  readonly known: readonly (string | null)[]
  /** Returns whether a password, in lower case, is in the list of common passwords. */
  readonly isCommon: (lowerCase: string) => boolean
}

/** Returns why a normalised password is rejected, or null. Sets no rule on composition (OWASP ASVS 5.0, 6.2.5). */
export function weakness(password: string, rules: PasswordRules): string | null {
  const length = Array.from(password).length
  if (length < rules.minLength) return `must have at least ${rules.minLength} characters`
  if (length > MAX_CODE_POINTS) return `must have at most ${MAX_CODE_POINTS} characters`
  const lowerCase = password.toLowerCase()
  if (rules.known.some((value) => value !== null && normalize(value).toLowerCase() === lowerCase)) {
    return "must not be your email address, your name or your shop's name"
  }
  if (rules.isCommon(lowerCase)) return 'is too common'
  return null
}
