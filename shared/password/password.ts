import * as v from 'valibot'
import type { Fault } from '#shared/schema/field-error.ts'
import type { PasswordGuesses } from '#shared/password/password-guesses.ts'
import { othersBesides } from '#shared/password/known-texts.ts'
import { fault } from '#shared/schema/fault.ts'
import { hasVisible } from '#shared/schema/text.ts'

const MAX_CODE_POINTS = 128
/** A password that contains a known text needs so many other letters and digits. */
const MIN_OTHER_CHARACTERS = 8
const MIN_GUESSES = 1e8

/** Returns the NFKC form of a password, which is the same for every keyboard (NIST SP 800-63B-4, 3.1.1.2; RFC 8265). */
export const normalize = (password: string): string => password.normalize('NFKC')

/**
 * A password in a request. Its length is limited so that rejecting it is cheap. Lone surrogates are rejected because UTF-8
 * encodes each as U+FFFD, which would make different passwords equal.
 */
export const SentPassword = v.pipe(
  v.string(),
  v.nonEmpty(),
  v.maxLength(4 * MAX_CODE_POINTS, fault({ code: 'too-long', max: MAX_CODE_POINTS })),
  v.check((value) => value.isWellFormed(), fault({ code: 'not-storable', must: 'be well-formed Unicode' })),
  v.examples(['seven green printing presses']),
)

/** A new password in a request. The API document says which ones are rejected. */
export const SentNewPassword = v.pipe(
  SentPassword,
  v.description(
    'A password is rejected if it is too short or too long, is common or easy to guess, has no visible character, or is ' +
      'little more than the email address, the name or a shop of the user. `errors` says why.',
  ),
)

/** The rules for a new password. */
export interface PasswordRules {
  readonly minLength: number
  /** Names and addresses of the user and their tenants. The password must not be little more than one of them. */
  readonly known: readonly (string | null)[]
  readonly guesses: PasswordGuesses
}

/** Returns why a normalised password is rejected, or null. Sets no rule on composition (OWASP ASVS 5.0, 6.2.5). */
export function weakness(password: string, { minLength, known, guesses }: PasswordRules): Fault | null {
  const length = lengthOf(password)
  if (length < minLength) return { code: 'too-short', min: minLength }
  if (length > MAX_CODE_POINTS) return { code: 'too-long', max: MAX_CODE_POINTS }
  if (!hasVisible(password)) return { code: 'no-visible-character' }
  const others = othersBesides(
    password,
    known.filter((text) => text !== null),
  )
  if (others !== null && others < MIN_OTHER_CHARACTERS)
    return { code: 'like-known', min: MIN_OTHER_CHARACTERS, known: "your email address, your name or your shop's name" }
  if (guesses.isCommon(password.toLowerCase())) return { code: 'common' }
  if (guesses.count(password) < MIN_GUESSES) return { code: 'guessable' }
  return null
}

const lengthOf = (text: string): number => Array.from(text).length
