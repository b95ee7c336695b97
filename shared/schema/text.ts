import * as v from 'valibot'
import { fault } from '#shared/schema/fault.ts'

/** Returns whether Postgres can store the text: well-formed Unicode without NUL. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

// Control characters, line and paragraph separators, and format characters, such as those that change the direction of the
// text around them. Two format characters are allowed where scripts need them, between letters: the zero-width joiner (in
// Sinhala) and non-joiner (in Persian). The domain app.one_line of the database refuses the same, but allows these two
// anywhere.
const NOT_ON_ONE_LINE =
  /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}|(?<![\p{L}\p{M}])[\u200c\u200d]|[\u200c\u200d](?!\p{L})/u

/** Returns whether Postgres can store the text and it is one line, without invisible control or format characters. */
export const isOneLine = (text: string): boolean => isStorable(text) && !NOT_ON_ONE_LINE.test(text)

// U+2800 is a braille cell without a dot.
const VISIBLE = /[^\p{White_Space}\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u

/** Returns whether a text has a character that a reader sees. */
export const hasVisible = (text: string): boolean => VISIBLE.test(text)

/** Returns whether a text has at most so many code points. JSON Schema and Postgres count these, JavaScript UTF-16 units. */
export const hasAtMost =
  (max: number) =>
  (text: string): boolean =>
    text.length <= max || Array.from(text).length <= max

/** Returns the schema of a short line that people type. It trims the text and rejects an empty one. */
export const text = ({ max, example }: { max: number; example: string }) =>
  v.pipe(
    v.string(),
    v.trim(),
    v.nonEmpty(),
    v.check(hasAtMost(max), fault({ code: 'too-long', max })),
    v.metadata({ maxLength: max }),
    v.check(isOneLine, fault({ code: 'not-one-line' })),
    v.examples([example]),
  )
