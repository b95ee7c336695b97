import * as v from 'valibot'
import { fault } from '#shared/schema/fault.ts'
import { hasVisible, text } from '#shared/schema/text.ts'
import { isTopLevelDomain } from '#shared/schema/top-level-domains.ts'

const MAX_CHARACTERS = 60

// A single letter, a slash and a single letter between two words: "Suresh a/l Raman", "Ravi s/o Kumar".
const PARTICLE = /(?<=\S\s)\p{L}\/\p{L}(?=\s\S)/gu
// An abbreviation of up to three letters before a name, without a blank: "Md.Rahman Khan". A dot or a hyphen must not follow the name.
const ABBREVIATED = /(?<=^|\s)(\p{L}{1,3})\.(?=(\p{L}{3,})(?:[\s,]|$))/gu
// Marks and characters that nobody sees may stand in the middle of a host name or a number.
const UNSEEN = /[\p{M}\p{Default_Ignorable_Code_Point}]/gu

/** Returns a name as a reader takes it: in the NFKC form, without what nobody sees, particles and the dots of abbreviations. */
const plainOf = (name: string): string =>
  name
    .normalize('NFKC')
    .replace(UNSEEN, '')
    .replace(PARTICLE, ' ')
    .replace(ABBREVIATED, (all, short: string, word: string) => (isTopLevelDomain(word) ? all : `${short} `))

// What a mail program makes a link of, or a reader a telephone number.
const AT_SIGN = /@/u
// Also signs that look like a slash.
const SLASH = /[/\\\u2044\u2215\u2216\u29f5\u29f8]/u
// A scheme, and a host name or address. "J. R. Archer", "J.R. Archer" and "Gustaf K:son" are none.
const WEB_ADDRESS = /[\p{L}\p{N}+.-]{2}:|[\p{L}\p{N}-][.。][\p{L}\p{N}][\p{L}\p{N}-]|\p{N}\.\p{N}/u
// With anything but letters between the digits.
const LONG_NUMBER = /(?:\p{N}[^\p{L}\p{N}]*){7}/u
const LETTER = /\p{L}/u

const has = (pattern: RegExp) => (name: string) => pattern.test(plainOf(name))
const hasNo = (pattern: RegExp) => (name: string) => !pattern.test(plainOf(name))

/**
 * Returns the schema of a name that mails contain. It has a letter, and cannot carry a link, an address or a telephone number. The
 * code of its fault says which character is wrong.
 */
export const name = (options: { max: number; example: string }) =>
  v.pipe(
    text(options),
    v.check(hasNo(AT_SIGN), fault({ code: 'at-sign' })),
    v.check(hasNo(SLASH), fault({ code: 'slash' })),
    v.check(hasNo(WEB_ADDRESS), fault({ code: 'web-address' })),
    v.check(hasNo(LONG_NUMBER), fault({ code: 'long-number' })),
    v.check(has(LETTER), fault({ code: 'no-letter' })),
  )

/** The name of a person, wherever one enters the service. */
export const PersonName = name({ max: MAX_CHARACTERS, example: 'Ann Archer' })

/** The legal name of a tenant. It is free in its characters: who shows it to others uses `shopName`. */
export const LegalName = v.pipe(
  text({ max: 200, example: 'Acme Print LLC' }),
  v.check(hasVisible, fault({ code: 'no-visible-character' })),
)
