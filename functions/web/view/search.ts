import { kept } from '#web/view/kept.ts'

const fold = (text: string): string => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()

/** Whether a text has every word of a search, in any order. Case and accents do not count. */
export function isFound(text: string, search: string): boolean {
  const folded = fold(text)
  return fold(search)
    .split(/\s+/)
    .every((word) => folded.includes(word))
}

/** Returns the order of names in a language, in which "Shop 5" comes before "Shop 47". */
export const inOrder = kept((language) => new Intl.Collator(language, { numeric: true }))
