import type { Page as BrowserPage } from 'playwright-core'
import { addressPattern } from '#web/http/addresses.ts'
import { PAGES } from '#web/http/pages.ts'

/** The pages that a person can open, as patterns of their addresses. */
export const VIEWS = PAGES.filter(
  ({ method, path }) => method === 'GET' && !/\.(ico|txt|csv|ndjson)$|^\/(healthz$|assets\/|\.well-known\/)/.test(path),
).map(({ path }) => ({ path, pattern: addressPattern(path) }))

/** Returns the page that an address belongs to. */
export const viewOf = (pathname: string): string | undefined =>
  VIEWS.find(({ path }) => path === pathname)?.path ?? VIEWS.find(({ pattern }) => pattern.test(pathname))?.path

/** Follows every link from these addresses, one of each page, and calls `visit` on each page that it shows. */
export async function crawl(
  page: BrowserPage,
  from: readonly string[],
  visit: (view: string) => Promise<void>,
): Promise<Set<string>> {
  const visited = new Set<string>()
  const waiting = [...from]
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { pathname } = new URL(next, page.url() === 'about:blank' ? 'http://none' : page.url())
    const view = viewOf(pathname)
    if (view === undefined || visited.has(view)) continue
    visited.add(view)
    await page.goto(next)
    await visit(view)
    for (const link of await page.locator('a[href]').all()) waiting.push((await link.getAttribute('href')) ?? '')
  }
  return visited
}
