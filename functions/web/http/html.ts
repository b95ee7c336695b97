import { html as tag } from 'hono/html'

/** Markup that `html` wrote. */
export interface Html {
  readonly isEscaped: true
  readonly toString: () => string
}

/** What may stand between the markup. Text is escaped; a list is its items in order; null and false are nothing. */
export type Content = Html | string | number | null | undefined | false | readonly Content[]

/**
 * Writes markup, and escapes each text in it. The lint rules let no other file import a tag or `raw`, so this is the only
 * way to markup.
 */
export const html = (strings: TemplateStringsArray, ...values: readonly Content[]): Html =>
  // The tag returns a promise only when a value is one.
  tag(strings, ...values) as unknown as Html
