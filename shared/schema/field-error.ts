/**
 * What can be wrong with a field: each code with its sentence in the API. A client decides by the code. The numbers `min` and
 * `max` are in the response too. The other words in braces are in the sentence alone. The API document, the client's types and the
 * texts of the pages are derived from this table: a new code is one line here, and does not compile without its texts.
 */
export const FIELD_ERRORS = {
  required: 'is required',
  empty: 'must not be empty',
  invalid: 'is not valid',
  'unknown-field': 'has an unknown field',
  repeated: 'must be given once',
  'wrong-type': 'must be {type}',
  'wrong-format': 'must be {format}',
  'not-a-choice': 'must be {choices}',
  'too-long': 'must have at most {max} characters',
  'too-short': 'must have at least {min} characters',
  'too-many': 'must have at most {max} {items}',
  'too-small': 'must be at least {min}',
  'too-large': 'must be at most {max}',
  'out-of-range': 'must be {type} from {min} to {max}',
  'not-storable': 'must {must}',
  'forbidden-character': 'must not contain {character}',
  'not-one-line': 'must be one line of text',
  'not-an-email-address': 'must be an email address',
  'at-sign': 'must not contain an at sign',
  slash: 'must not contain a slash, except between two single letters as in "s/o"',
  'web-address': 'must not contain a dot or a colon within a word, as a web address does',
  'long-number': 'must not contain seven or more digits without a letter between them',
  'not-a-file-name': 'must be the name of a file, without a slash or a backslash',
  'no-letter': 'must contain a letter',
  unknown: 'is not {kind}',
  nonexistent: 'names {kind} that does not exist',
  duplicate: 'has the {part} of another {item}',
  'no-price': 'has no price, and no price break qualifies',
  'total-too-large': '{has} a total that is too large',
  'settings-too-large': 'would have more than 16 KiB',
  'invalid-cursor': 'is not a cursor of this list',
  'wrong-password': 'is not the current password',
  'wrong-code': 'is wrong, was used already or has expired',
  'wrong-passkey': 'did not work, was used already or has expired',
  'refused-by-vendor': 'was refused by the vendor',
  'no-visible-character': 'must have a visible character',
  'like-known': 'must have at least {min} characters besides {known}',
  common: 'is too common',
  guessable: 'is too easy to guess',
  breached: 'is known from a breach',
} as const

export type FieldErrorCode = keyof typeof FIELD_ERRORS

type WordsIn<Sentence extends string> = Sentence extends `${string}{${infer Word}}${infer Rest}`
  ? Word | WordsIn<Rest>
  : never

type WordsOf<Code extends FieldErrorCode> = {
  readonly [Word in WordsIn<(typeof FIELD_ERRORS)[Code]>]: Word extends 'min' | 'max' ? number : string
}

/** What is wrong with a value: a code with the words of its sentence. */
export type Fault = { [Code in FieldErrorCode]: { readonly code: Code } & WordsOf<Code> }[FieldErrorCode]

/** What is wrong with one field of a request, which a JSON pointer names. */
export type FieldFault = Fault & { readonly pointer: string }

/** One invalid field, as a response shows it. `detail` never repeats a value from the request. */
export interface FieldError {
  readonly pointer: string
  readonly code: FieldErrorCode
  readonly detail: string
  readonly min?: number | undefined
  readonly max?: number | undefined
}

/** Returns the sentence of a fault. */
export const detailOf = (fault: Fault): string =>
  FIELD_ERRORS[fault.code].replace(/\{(\w+)\}/g, (_, word: string) => String(Reflect.get(fault, word)))

/** Returns the field error of a fault. JSON leaves out a number that it does not have. */
export function fieldError(fault: FieldFault): FieldError {
  const { pointer, code, min, max }: Partial<Record<'min' | 'max', number>> & FieldFault = fault
  return { pointer, code, min, max, detail: detailOf(fault) }
}
