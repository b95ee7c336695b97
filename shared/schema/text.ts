import * as v from 'valibot'

/** Returns whether Postgres can store the text: well-formed Unicode without NUL. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** Returns whether Postgres can store the text and it has no line break or other control character. */
const isOneLine = (text: string): boolean => isStorable(text) && !/\p{Cc}/u.test(text)

/** Returns the schema of a short text that people type. It trims the text and rejects an empty one. */
export const text = ({ max, example, oneLine = true }: { max: number; example: string; oneLine?: boolean }) =>
  v.pipe(
    v.string('must be a string'),
    v.trim(),
    v.nonEmpty('must not be empty'),
    v.maxLength(max, `must have at most ${max} characters`),
    oneLine ? v.check(isOneLine, 'must be one line of text') : v.check(isStorable, 'must be text'),
    v.examples([example]),
  )
