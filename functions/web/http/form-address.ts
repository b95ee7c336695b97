import { given, type WebState } from '#web/http/request.ts'
import { withQuery } from '#web/view/parts.ts'

/** Returns the address of the page that shows the form of a POST. */
export function formAddress({ matched }: Pick<WebState, 'matched'>): string {
  const { page, params } = given(matched)
  return page.formAt.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
}

/**
 * Returns the address to come back to. A form is not sent again: the person comes back to the page that shows it, and the page that they
 * wanted before (`next`) stays.
 */
export const returnAddress = (state: WebState): string | null => {
  if (state.matched === null) return null
  return state.matched.page.method === 'GET'
    ? withQuery(state.path, Object.fromEntries(state.query))
    : withQuery(formAddress(state), { next: state.form?.get('next') ?? state.query.get('next') })
}
