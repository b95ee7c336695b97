import type { RequestHeaders } from '#shared/http/headers.ts'

/** The cookies of the front end. The prefix makes browsers refuse one with a Domain, another Path, or without Secure. */
export const COOKIES = {
  /** The session token. */
  session: { name: '__Host-tenantry', maxAgeSeconds: null },
  /** The session's CSRF token. */
  csrf: { name: '__Host-tenantry-csrf', maxAgeSeconds: null },
  /** The random value behind the CSRF fields of forms that need no session. */
  form: { name: '__Host-tenantry-form', maxAgeSeconds: 3600 },
  /** The single-use token between the link in a mail and the form. */
  link: { name: '__Host-tenantry-link', maxAgeSeconds: 600 },
  lang: { name: '__Host-tenantry-lang', maxAgeSeconds: 365 * 86_400 },
} as const satisfies Readonly<Record<string, { readonly name: string; readonly maxAgeSeconds: number | null }>>

export type CookieName = keyof typeof COOKIES

// The characters of tokens and codes. No value that the front end sets has another one.
const VALUE = /^[A-Za-z0-9_-]{1,128}$/

/** Returns the Set-Cookie header. Throws for a value that could end the cookie or the header. */
export function setCookie(cookie: CookieName, value: string): string {
  if (!VALUE.test(value)) throw new Error(`not a value of the cookie ${cookie}`)
  return line(cookie, value, COOKIES[cookie].maxAgeSeconds)
}

/** Returns the Set-Cookie header that deletes the cookie. */
export const deleteCookie = (cookie: CookieName): string => line(cookie, '', 0)

const line = (cookie: CookieName, value: string, maxAgeSeconds: number | null): string =>
  `${COOKIES[cookie].name}=${value}; Path=/; Secure; HttpOnly; SameSite=Lax` +
  (maxAgeSeconds === null ? '' : `; Max-Age=${maxAgeSeconds}`)

const NAMES = new Map<string, CookieName>(
  Object.entries(COOKIES).map(([cookie, { name }]) => [name, cookie as CookieName]),
)

/** Returns the cookies of the front end in a request. One that is sent twice counts as none: nobody knows which is ours. */
export function readCookies(headers: RequestHeaders) {
  const cookies = new Map<CookieName, string>()
  const twice = new Set<CookieName>()
  for (const pair of headers.all('cookie').flatMap((text) => text.split(';'))) {
    const at = pair.indexOf('=')
    const cookie = NAMES.get(pair.slice(0, Math.max(at, 0)).trim())
    if (cookie === undefined) continue
    const value = pair.slice(at + 1).trim()
    if (cookies.has(cookie)) twice.add(cookie)
    if (VALUE.test(value)) cookies.set(cookie, value)
  }
  for (const cookie of twice) cookies.delete(cookie)
  return cookies
}
