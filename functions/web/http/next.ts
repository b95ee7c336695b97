import { type Page, PARAMS } from '#web/http/page.ts'

const MAX_LENGTH = 500
// Printable ASCII without the backslash, which browsers read as a slash.
const PLAIN = /^\/(?!\/)[!-[\]-~]*$/

/**
 * Returns what accepts an address to go to next: the path of one of our own GET pages, with a query. Any other text is null,
 * so no link leads through our sign-in to another site.
 */
export function ownAddress(pages: readonly Page[]): (text: string) => string | null {
  const patterns = pages
    .filter(({ method, access }) => method === 'GET' && access !== 'link')
    .map(({ path }) => {
      const source = path.replaceAll('.', '\\.').replace(/\{(\w+)\}/g, (_, name: string) => {
        const pattern = Object.hasOwn(PARAMS, name) ? PARAMS[name as keyof typeof PARAMS].source : '$.'
        return `(?:${pattern.replace(/^\^|\$$/g, '')})`
      })
      return new RegExp(`^${source}$`)
    })
  return (text) => {
    if (text.length > MAX_LENGTH || !PLAIN.test(text)) return null
    const url = URL.parse(text, 'https://own.invalid')
    // Dot segments, a fragment and other spellings change when they are parsed.
    if (url === null || url.origin !== 'https://own.invalid' || url.pathname + url.search !== text) return null
    return patterns.some((pattern) => pattern.test(url.pathname)) ? text : null
  }
}
