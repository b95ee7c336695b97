import * as v from 'valibot'
import { fault } from '#shared/schema/fault.ts'
import { text } from '#shared/schema/text.ts'

// What a mail program makes a link of, or a reader a telephone number.
const NOT_IN_A_NAME = [
  /[@/\\]/u,
  // A scheme, and a host name or address. "J. R. Archer", "J.R. Archer" and "Gustaf K:son" are none.
  /[\p{L}\p{N}+.-]{2}:/u,
  /[\p{L}\p{M}\p{N}-][.。][\p{L}\p{N}][\p{L}\p{M}\p{N}-]/u,
  /\p{N}\.\p{N}/u,
  // Seven digits, also with the separators of telephone numbers.
  /(?:\p{N}[\s().+_-]*){7}/u,
]

function isName(name: string): boolean {
  // Undoes other spellings of the same characters, such as fullwidth ones.
  const plain = name.normalize('NFKC')
  return !NOT_IN_A_NAME.some((pattern) => pattern.test(plain))
}

/** Returns the schema of a name that mails contain. It cannot carry a link, an address or a telephone number. */
export const name = (options: { max: number; example: string }) =>
  v.pipe(text(options), v.check(isName, fault({ code: 'not-a-name' })))

/** The name of a person, wherever one enters the service. */
export const PersonName = name({ max: 60, example: 'Ann Archer' })
