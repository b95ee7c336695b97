import type { RequestHeaders } from '#shared/http/headers.ts'

/** The cookies of the front end. The prefix makes browsers refuse one with a Domain, another Path, or without Secure. */
export const COOKIES = {
  /** The session token. */
  session: { name: '__Host-tenantry', maxAgeSeconds: null },
  /** The session's CSRF token. */
  csrf: { name: '__Host-tenantry-csrf', maxAgeSeconds: null },
  /** The random value behind the CSRF fields of forms that need no session. */
  form: { name: '__Host-tenantry-form', maxAgeSeconds: 3600 },
  /** The links of mails whose forms are open (links.ts). It lives as long as the last of them. */
  link: { name: '__Host-tenantry-link', maxAgeSeconds: 86_400 },
  /** What a person typed into a form that was not done, sealed (typed.ts). */
  typed: { name: '__Host-tenantry-typed', maxAgeSeconds: 600 },
  /** The notice that the page after a redirect shows once, sealed (notices.ts). */
  notice: { name: '__Host-tenantry-notice', maxAgeSeconds: 60 },
  /** The sign-in that still owes a second factor, sealed (open-sign-in.ts). */
  signIn: { name: '__Host-tenantry-sign-in', maxAgeSeconds: 600 },
  lang: { name: '__Host-tenantry-lang', maxAgeSeconds: 365 * 86_400 },
} as const satisfies Readonly<Record<string, { readonly name: string; readonly maxAgeSeconds: number | null }>>

export type CookieName = keyof typeof COOKIES

/** Browsers keep a cookie of at most 4096 bytes, with its name. */
export const MAX_COOKIE_LENGTH = 4000
// The characters of tokens and codes, and a dot between them. No value that the front end sets has another one.
const VALUE = new RegExp(`^[A-Za-z0-9_.-]{1,${MAX_COOKIE_LENGTH}}$`)

/** Returns the Set-Cookie header. Throws for a value that could end the cookie or the header. */
export function setCookie(
  cookie: CookieName,
  value: string,
  maxAgeSeconds: number | null = COOKIES[cookie].maxAgeSeconds,
): string {
  if (!VALUE.test(value)) throw new Error(`not a value of the cookie ${cookie}`)
  return line(cookie, value, maxAgeSeconds)
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
