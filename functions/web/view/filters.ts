import { type Html, html } from '#web/http/html.ts'
import type { Ui } from '#web/view/ui.ts'

interface FilterParts {
  readonly name: string
  readonly label: string
  readonly value: string | null
}

export type Filter =
  | (FilterParts & { readonly type: 'search' | 'date' })
  | (FilterParts & { readonly options: readonly { readonly value: string; readonly label: string }[] })

/** The filters of a list: a form that opens the same page with them in its query. */
export const filters = ({ path, t }: Ui, label: string, fields: readonly Filter[]): Html =>
  html`<form class="filters" method="get" action="${path}" aria-label="${label}">
${fields.map((filter) => html`<div class="filter"><label for="filter-${filter.name}">${filter.label}</label>${control(filter)}</div>`)}
<button type="submit" class="plain">${t.common.filter}</button>
</form>`

function control(filter: Filter): Html {
  const { name, value } = filter
  if ('options' in filter)
    return html`<select id="filter-${name}" name="${name}">${filter.options.map(
      (option) =>
        html`<option value="${option.value}"${option.value === (value ?? '') && html` selected`}>${option.label}</option>`,
    )}</select>`
  return html`<input id="filter-${name}" name="${name}" type="${filter.type}" value="${value ?? ''}" autocomplete="off">`
}
