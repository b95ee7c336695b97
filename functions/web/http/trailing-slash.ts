import { addressPattern } from '#web/http/addresses.ts'
import type { Page } from '#web/http/page.ts'
import type { WebState } from '#web/http/request.ts'
import { withQuery } from '#web/view/parts.ts'

/** The address of a page with slashes after it. It leads to the page. */
export class TrailingSlash extends Error {
  override name = 'TrailingSlash'
  readonly to: string

  constructor(to: string) {
    super('the address ends with a slash')
    this.to = to
  }
}

/** Returns the address without the slashes at its end if a page of ours has it, else null. */
export function withoutSlash(pages: readonly Page[], { path, query }: WebState): string | null {
  const [, address] = /^(\/[\w./-]*[\w.-])\/+$/.exec(path) ?? []
  const isOurs = pages.some((page) => page.method === 'GET' && addressPattern(page.path).test(address ?? ''))
  return address === undefined || !isOurs ? null : withQuery(address, Object.fromEntries(query))
}
