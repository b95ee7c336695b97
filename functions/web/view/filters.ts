import { type Html, html } from '#web/http/html.ts'
import { errorsOf, hiddenFields, idOf } from '#web/view/form.ts'
import type { Ui } from '#web/view/ui.ts'

interface FilterParts {
  readonly name: string
  readonly label: string
  readonly value: string | null
}

export type Filter =
  | (FilterParts & { readonly type: 'search' })
  | (FilterParts & { readonly type: 'date'; readonly min: string; readonly max: string })
  | (FilterParts & { readonly options: readonly { readonly value: string; readonly label: string }[] })

/** The filters of a list: a form that opens the same page with them, and the hidden fields, in its query. `submit` is its button. */
export const filters = (
  ui: Ui,
  label: string,
  fields: readonly Filter[],
  hidden: Readonly<Record<string, string>> = {},
  submit: string = ui.t.common.filter,
): Html =>
  html`<form class="filters" method="get" action="${ui.path}" aria-label="${label}">
${hiddenFields(hidden)}
${fields.map((filter) => labelled(ui, filter))}
<button type="submit" class="plain">${submit}</button>
</form>`

function labelled(ui: Ui, filter: Filter): Html {
  const id = idOf(filter.name)
  ui.refusal?.labels.set(filter.name, filter.label)
  const errors = errorsOf(ui, filter.name)
  const attributes = html`id="${id}" name="${filter.name}"${errors.length > 0 && html` aria-describedby="${id}-error" aria-invalid="true"`}`
  return html`<div class="filter"><label for="${id}">${filter.label}</label>${errors.length > 0 && html`<p class="error" id="${id}-error"><span class="unseen">${ui.t.common.errorPrefix} </span>${errors.join(' ')}</p>`}${control(filter, attributes)}</div>`
}

function control(filter: Filter, attributes: Html): Html {
  const { value } = filter
  if ('options' in filter)
    return html`<select ${attributes}>${filter.options.map(
      (option) =>
        html`<option value="${option.value}"${option.value === (value ?? '') && html` selected`}>${option.label}</option>`,
    )}</select>`
  const range = filter.type === 'date' && html` min="${filter.min}" max="${filter.max}"`
  return html`<input ${attributes} type="${filter.type}" value="${value ?? ''}"${range} autocomplete="off">`
}
