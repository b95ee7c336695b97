/** Returns the addresses in a text that people paste: `Ann <ann@x>, "Roe, Bob" <bob@x>; carl@x`, each once, without what is not an address. */
export function addressesIn(text: string): string[] {
  const parts = text
    .replace(/"[^"]*"/g, ' ')
    .split(/[,;\r\n]+/)
    .map((part) => part.trim())
    .filter((part) => part !== '')
  // Of `Roe, Bob <bob@x>` the first part is a piece of the name.
  const whole = parts.filter((part, at) => part.includes('@') || !parts[at + 1]?.includes('<'))
  return [...Map.groupBy(whole.flatMap(addressesOf), (address) => address.toLowerCase()).values()].flatMap(
    ([first]) => first ?? [],
  )
}

/** The address of `Ann <ann@x>`, and each of `ann@x bob@x`. Any other text stays as it is: the API says what is wrong with it. */
function addressesOf(part: string): string[] {
  const inBrackets = [...part.matchAll(/<\s*(?:mailto:)?([^<>\s]+)\s*>/g)].map(([, address = '']) => address)
  if (inBrackets.length > 0) return inBrackets
  const words = part.split(/\s+/)
  return words.every((word) => word.includes('@')) ? words.map((word) => word.replace(/^mailto:/, '')) : [part]
}
