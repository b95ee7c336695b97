// A text of one or two letters is in most passwords, so it counts once.
const MIN_REPEATED = 3

const ASCII = /^[\x20-\x7e]*$/

/**
 * Returns the letters and digits of a text alone, in a form that is the same for each spelling: upper case, because lower case depends
 * on the position (a Greek word ends with another sigma), and without accents.
 */
export function fold(text: string): string {
  if (ASCII.test(text)) return text.toUpperCase().replace(/[^A-Z0-9]/g, '')
  const letters = text.normalize('NFKC').toUpperCase().normalize('NFKD')
  return letters.replace(/[^\p{L}\p{N}]/gu, '').normalize('NFC')
}

/** Returns a known text, and of an address the local part alone, each also without its tag. */
const partsOf = (text: string): string[] => {
  const [, local, tag = '', domain = ''] = /^([^+@]*)(\+[^@]*)?(@.*)$/s.exec(text) ?? []
  return local === undefined ? [text] : [text, local, `${local}${tag}`, `${local}${domain}`]
}

const reversed = (text: string): string => Array.from(text).toReversed().join('')

/**
 * Returns how many letters and digits of a password are in no known text, if it contains one, or null. A known text counts wherever
 * it is, however often, forwards and backwards, and whatever stands between its letters.
 */
export function othersBesides(password: string, known: readonly string[]): number | null {
  const folded = fold(password)
  const words = new Set(known.flatMap(partsOf).map(fold))
  words.delete('')
  const covered = new Uint8Array(folded.length)
  let found = false
  for (const word of words) {
    for (const text of new Set([word, reversed(word)])) {
      for (let at = folded.indexOf(text); at !== -1; at = folded.indexOf(text, at + 1)) {
        found = true
        covered.fill(1, at, at + text.length)
        if (text.length < MIN_REPEATED) break
      }
    }
  }
  if (!found) return null
  const rest = folded.split('').filter((_, at) => covered[at] === 0)
  return Array.from(rest.join('')).length
}
