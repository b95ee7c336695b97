import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type { Page } from '#web/http/page.ts'

/** Whether the forms of a page belong to a session. The others belong to the browser's form cookie. */
export const needsSession = ({ access }: Pick<Page, 'access'>): boolean =>
  access === 'session' || typeof access === 'object'

/** Returns the CSRF field of the forms that need no session. Each form has one of its own. */
export const formField = (webKey: string, formSecret: string, route: string): string =>
  createHmac('sha256', webKey).update(formSecret).update('\0').update(route).digest('base64url')

/** Returns the field by which a form names the link of a mail that it belongs to. It tells nothing about the token. */
export const linkField = (
  webKey: string,
  formSecret: string,
  { route, token }: { readonly route: string; readonly token: string },
): string =>
  createHmac('sha256', webKey)
    .update(formSecret)
    .update('\0')
    .update(route)
    .update('\0')
    .update(hash('sha256', token, 'buffer'))
    .digest('base64url')

/** Returns the field by which a form names the person whom it was shown to. */
export const personField = (webKey: string, userId: string): string =>
  createHmac('sha256', webKey).update('person\0').update(userId).digest('base64url')

/** Compares two texts in a time that depends on neither. An empty text is equal to nothing. */
export function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length > 0 && left.length === right.length && timingSafeEqual(left, right)
}
