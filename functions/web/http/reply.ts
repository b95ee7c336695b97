import type { Html } from '#web/http/html.ts'
import type { About } from '#web/texts/notice-text.ts'
import type { GivenNotice, Notice } from '#web/texts/texts.ts'

interface Common {
  /** Set-Cookie headers. */
  readonly cookies?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

export interface View extends Common {
  readonly kind: 'view'
  readonly status: number
  /** The heading of the page. The layout writes it as the only `h1`, and into the title. */
  readonly title: string
  readonly content: Html
  /** What the notice of the page names, if it is not the shop and the role of the session. */
  readonly about?: Partial<About>
}

interface Redirect extends Common {
  readonly kind: 'redirect'
  /** An address of ours. */
  readonly to: string
  readonly notice: GivenNotice | null
}

interface Text extends Common {
  readonly kind: 'text'
  readonly contentType: string
  readonly text: string
}

export type PageReply = View | Redirect | Text

/** A page in the layout. */
export const view = (given: Omit<View, 'kind' | 'status'> & { readonly status?: number }): View => ({
  status: 200,
  ...given,
  kind: 'view',
})

/** A 303 to a page of ours, which may show a notice about something. */
export function redirect(
  to: string,
  {
    notice = null,
    about = {},
    ...common
  }: Common & { readonly notice?: Notice | null; readonly about?: Partial<About> } = {},
): Redirect {
  const mark = to.includes('?') ? '&' : '?'
  return {
    ...common,
    kind: 'redirect',
    to: notice === null ? to : `${to}${mark}notice=${notice}`,
    notice: notice === null ? null : { code: notice, about },
  }
}

/** A response that is no page. */
export const text = (contentType: string, content: string, common: Common = {}): Text => ({
  ...common,
  kind: 'text',
  contentType,
  text: content,
})
