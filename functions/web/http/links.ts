import type { Config } from '#shared/base/config.ts'
import { TOKEN_PATTERN } from '#shared/secret/secret.ts'
import { type CookieName, COOKIES, deleteCookie, setCookie } from '#web/http/cookies.ts'
import { isSame, linkField } from '#web/http/csrf.ts'

/** A link of a mail that the browser opened: its token, the page that it leads to, and the second at which it expires. */
export interface MailLink {
  readonly token: string
  readonly page: string
  readonly expiresAt: number
}

/** Two links can be open in two tabs. A browser keeps this many, newest first. */
const MOST = 5
const PAGE = /^[a-z-]{1,40}$/
const SECOND = /^[0-9a-z]{1,9}$/

const now = (): number => Math.floor(Date.now() / 1000)

/** Returns the links of the cookie that have not expired, newest first. */
export function readLinks(cookies: ReadonlyMap<CookieName, string>): readonly MailLink[] {
  const parts = (cookies.get('link') ?? '').split('.')
  const links: MailLink[] = []
  for (let at = 0; at + 2 < parts.length && links.length < MOST; at += 3) {
    const [token = '', page = '', second = ''] = parts.slice(at, at + 3)
    const expiresAt = SECOND.test(second) ? parseInt(second, 36) : 0
    if (TOKEN_PATTERN.test(token) && PAGE.test(page) && expiresAt > now())
      links.push({ token, page: `/${page}`, expiresAt })
  }
  return links
}

/** Returns the Set-Cookie header of these links. It deletes the cookie when there is none. */
export function writeLinks(links: readonly MailLink[]): string {
  const kept = links.slice(0, MOST)
  if (kept.length === 0) return deleteCookie('link')
  const seconds = Math.max(...kept.map(({ expiresAt }) => expiresAt)) - now()
  return setCookie(
    'link',
    kept.map(({ token, page, expiresAt }) => `${token}.${page.slice(1)}.${expiresAt.toString(36)}`).join('.'),
    Math.max(1, Math.min(seconds, COOKIES.link.maxAgeSeconds)),
  )
}

/** How long a link of each page lives, in seconds. The cookie keeps no link for more than a day. */
const LIFETIMES: Readonly<Record<string, (config: Config) => number>> = {
  '/reset-password': ({ reset }) => reset.ttlSeconds,
  '/verify-email': ({ verify }) => verify.ttlSeconds,
  '/invitation': ({ invite }) => invite.ttlSeconds,
}

/** Returns the link of a mail that was opened now. */
export function newLink(token: string, page: string, config: Config): MailLink {
  const seconds = LIFETIMES[page]?.(config) ?? COOKIES.link.maxAgeSeconds
  return { token, page, expiresAt: now() + Math.min(seconds, COOKIES.link.maxAgeSeconds) }
}

/** Returns the link that a form of this route names in its field, or null. */
export function namedLink(
  links: readonly MailLink[],
  field: string,
  { webKey, formSecret, route }: { readonly webKey: string; readonly formSecret: string; readonly route: string },
): MailLink | null {
  return links.find(({ token }) => isSame(field, linkField(webKey, formSecret, { route, token }))) ?? null
}
