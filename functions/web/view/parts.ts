import { type Content, type Html, html } from '#web/http/html.ts'
import { actionButton, form, proofFields } from '#web/view/form.ts'
import type { Ui } from '#web/view/ui.ts'

/** A column of a table. Its head is its label on a narrow screen, too. */
interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => Content
}

/**
 * A table. The first column names the row. `caption` is its title for those who hear the page: a heading shows it to the others. `below` is
 * what a row opens.
 */
export const table = <Row>(
  parts: {
    readonly caption: string
    readonly columns: readonly [Column<Row>, ...Column<Row>[]]
    readonly below?: (row: Row) => Content
  },
  rows: readonly Row[],
): Html => {
  const [first, ...others] = parts.columns
  const below = (content: Content) =>
    content !== null && html`<tr class="below"><td colspan="${parts.columns.length}">${content}</td></tr>`
  return html`<table>
<caption><span class="unseen">${parts.caption}</span></caption>
<thead><tr>${parts.columns.map(({ head }) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${rows.map(
    (row) =>
      html`<tr><th scope="row">${first.cell(row)}</th>${others.map(({ head, cell }) => html`<td data-label="${head}">${cell(row)}</td>`)}</tr>${below(parts.below?.(row) ?? null)}`,
  )}</tbody>
</table>`
}

/** What stands in the place of an empty list: what would be there, and how to begin. */
export const empty = (title: string, content: Content): Html =>
  html`<div class="empty"><h2>${title}</h2>${content}</div>`

/**
 * Links to the first, the previous and the next page of a list. `query` has the filters of the list. Without a `previous` cursor, the
 * previous page is the first one, or nobody knows where it begins.
 */
export function paging(
  { path, t }: Ui,
  page: {
    readonly query: Readonly<Record<string, string | null | undefined>>
    readonly cursor: string | null
    readonly next: string | null
    readonly previous?: string | null
  },
): Html | null {
  const { query, cursor, next, previous = null } = page
  if (cursor === null && next === null) return null
  const link = (to: string | null, label: string) =>
    html`<li><a href="${withQuery(path, { ...query, cursor: to })}">${label}</a></li>`
  return html`<nav class="paging" aria-label="${t.common.pages}"><ul>${cursor !== null && link(null, t.common.firstPage)}${previous !== null && link(previous, t.common.previousPage)}${next !== null && link(next, t.common.nextPage)}</ul></nav>`
}

/** A short word about the state of something. The word says it all; the color only repeats it. */
export const badge = (label: string, tone: 'plain' | 'good' | 'warn' | 'bad' = 'plain'): Html =>
  html`<span class="badge ${tone}">${label}</span>`

/** Asks before an action that cannot be undone. */
export const confirmation = (
  ui: Ui,
  parts: {
    readonly text: Content
    readonly to: string
    readonly label: string
    readonly back: string
    readonly hidden?: Readonly<Record<string, string>>
  },
): Html => {
  const { text, to, label, back, hidden = {} } = parts
  const proof = proofFields(ui, to)
  return html`<div class="prose">${text}</div>
${
  proof === null
    ? html`<div class="actions">${actionButton(ui, { to, label, hidden, style: 'danger' })} <a href="${back}">${ui.t.common.cancel}</a></div>`
    : form(ui, { to, hidden, fields: proof, submit: label, style: 'danger', back })
}`
}

/** Returns an address with the fields of the query that have a value. */
export function withQuery(path: string, query: Readonly<Record<string, string | null | undefined>>): string {
  const fields = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== null && value !== undefined && value !== '') fields.set(name, value)
  return fields.size === 0 ? path : `${path}?${fields.toString()}`
}
