import { createHmac, timingSafeEqual } from 'node:crypto'
import { addressPattern } from '#web/http/addresses.ts'
import type { Page } from '#web/http/page.ts'
import { given, type WebState } from '#web/http/request.ts'

/** Whether the forms of a page belong to a session. The others belong to the browser's form cookie. */
export const needsSession = ({ access }: Pick<Page, 'access'>): boolean =>
  access === 'session' || typeof access === 'object'

/** Returns the field of the forms that need no session. Each form has one of its own. */
export const formField = (webKey: string, formSecret: string, route: string): string =>
  createHmac('sha256', webKey).update(formSecret).update('\0').update(route).digest('base64url')

/** Compares two texts in a time that depends on neither. An empty text is equal to nothing. */
export function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length > 0 && left.length === right.length && timingSafeEqual(left, right)
}

/** Returns what writes the hidden field of a form, by the address that the form is sent to. */
export function csrfFields(pages: readonly Page[]): (state: WebState, to: string) => string {
  const forms = pages
    .filter(({ method }) => method === 'POST')
    .map((page) => ({ page, pattern: addressPattern(page.path) }))
  return (state, to) => {
    const form = forms.find(({ page, pattern }) => page.path === to || pattern.test(to))
    if (form === undefined) throw new Error('a form is sent to no page')
    if (needsSession(form.page)) return given(state.session).csrf_token
    return formField(given(state.runtime).webKey, state.formSecret, form.page.route)
  }
}
