import { addressPattern } from '#web/http/addresses.ts'
import type { Page } from '#web/http/page.ts'

/** The pages of an address, one for each method, and the texts in the place of its parameters, decoded. */
export interface FoundPages {
  readonly pages: readonly Page[]
  readonly params: Readonly<Record<string, string>>
}

/**
 * Returns what finds the pages of an address. API Gateway's resource is not asked: during a release its paths are those of another
 * release.
 */
export function pageFinder(pages: readonly Page[]): (address: string) => FoundPages | null {
  // A literal segment comes before a parameter, as in API Gateway: every letter of a path sorts before the brace.
  const paths = [...Map.groupBy(pages, ({ path }) => path)]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([path, found]) => ({ pattern: addressPattern(path), found }))
  return (address) => {
    for (const { pattern, found } of paths) {
      const match = pattern.exec(address)
      if (match === null) continue
      const params = Object.entries(match.groups ?? {}).map(([name, value]) => [name, decoded(value)])
      return { pages: found, params: Object.fromEntries(params) }
    }
    return null
  }
}

/** Returns the decoded text of a segment. No parameter accepts the empty one of a segment that cannot be decoded. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return ''
  }
}
