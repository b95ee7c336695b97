import { randomUUID } from 'node:crypto'
import { addressPattern } from '#web/http/addresses.ts'
import { formField, linkField, needsSession, personField } from '#web/http/csrf.ts'
import type { Page } from '#web/http/page.ts'
import { given, type WebState } from '#web/http/request.ts'
import { CSRF_FIELD, LINK_FIELD, ONCE_FIELD, PERSON_FIELD } from '#web/view/form.ts'

/** Returns what finds the page that a form is sent to. It throws when there is none. */
export function formPages(pages: readonly Page[]): (to: string) => Page {
  const forms = pages
    .filter(({ method }) => method === 'POST')
    .map((page) => ({ page, pattern: addressPattern(page.path) }))
  return (address) => {
    const [to = ''] = address.split('?', 1)
    const page = forms.find(({ page: { path }, pattern }) => path === to || pattern.test(to))?.page
    if (page === undefined) throw new Error('a form is sent to no page')
    return page
  }
}

/** Returns the hidden fields of a form that is sent to this page. */
export function boundFields(state: WebState, page: Page): Readonly<Record<string, string>> {
  const { webKey } = given(state.runtime)
  if (needsSession(page)) {
    const { csrf_token: csrf, user } = given(state.session)
    const bound = { [CSRF_FIELD]: csrf, [PERSON_FIELD]: personField(webKey, user.id) }
    return page.creates ? { ...bound, [ONCE_FIELD]: randomUUID() } : bound
  }
  const { route, path } = page
  const csrf: Readonly<Record<string, string>> = { [CSRF_FIELD]: formField(webKey, state.formSecret, route) }
  if (page.access !== 'link' || state.link?.page !== path) return csrf
  return { ...csrf, [LINK_FIELD]: linkField(webKey, state.formSecret, { route, token: state.link.token }) }
}
