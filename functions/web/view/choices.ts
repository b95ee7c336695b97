import { type Content, type Html, html } from '#web/http/html.ts'
import { around, errorsOf, errorText, type FieldParts, idOf } from '#web/view/form.ts'
import type { Ui } from '#web/view/ui.ts'

/** A choice, as the form sends it and as people read it. */
export interface Option {
  readonly value: string
  readonly label: string
}

/** A choice that says what follows from it, and what to be careful about. */
interface ExplainedOption extends Option {
  readonly hint?: string
  readonly careful?: string | null
}

/** What stands below the label of a choice. */
const explanation = ({ hint, careful = null }: ExplainedOption): Html =>
  html`${hint !== undefined && html` <span class="hint">${hint}</span>`}${careful !== null && html` <span class="careful">${careful}</span>`}`

/** Choices under a heading. */
export interface OptionGroup {
  readonly label: string
  readonly options: readonly Option[]
}

/** The options of a list, none of them chosen. */
const written = new WeakMap<readonly Option[], readonly Html[]>()

/** Returns the options. A list that is kept, such as that of hundreds of time zones, is written once. */
function optionsWith(options: readonly Option[], chosen: string): Content {
  const known =
    written.get(options) ?? options.map(({ value, label }) => html`<option value="${value}">${label}</option>`)
  written.set(options, known)
  return options.map(({ value, label }, at) =>
    value === chosen ? html`<option value="${value}" selected>${label}</option>` : (known[at] ?? null),
  )
}

/** A choice from a list. The groups stand below the options. */
export const select = (
  ui: Ui,
  parts: FieldParts & { readonly options: readonly Option[]; readonly groups?: readonly OptionGroup[] },
): Html => {
  const chosen = ui.refusal?.values[parts.name] ?? parts.value ?? ''
  const options = optionsWith(parts.options, chosen)
  const groups = (parts.groups ?? []).map(
    ({ label, options: inGroup }) => html`<optgroup label="${label}">${optionsWith(inGroup, chosen)}</optgroup>`,
  )
  return around(ui, parts, (attributes) => html`<select ${attributes}>${options}${groups}</select>`)
}

/** A choice from a few, each with what it means. */
export const radios = (
  ui: Ui,
  parts: {
    readonly name: string
    readonly legend: string
    readonly value: string
    readonly options: readonly ExplainedOption[]
  },
): Html => {
  const { name, legend, value, options } = parts
  ui.refusal?.labels.set(name, legend)
  const errors = errorsOf(ui, name)
  const chosen = ui.refusal?.values[name] ?? value
  return html`<fieldset class="${errors.length > 0 ? 'field invalid' : 'field'}" id="${idOf(name)}"><legend>${legend}</legend>
${errorText(ui, errors)}
${options.map(
  (option) =>
    html`<label class="radio"><input type="radio" name="${name}" value="${option.value}"${option.value === chosen && html` checked`}> <span>${option.label}${explanation(option)}</span></label>`,
)}
</fieldset>`
}

/** A list of choices, of which any number may be made: each is a field of its own, named `prefix` and the value. */
export const checkboxes = (
  ui: Ui,
  parts: {
    readonly legend: string
    readonly hint?: string
    readonly prefix: string
    readonly options: readonly ExplainedOption[]
    /** The field that a refusal of all boxes together names. */
    readonly name?: string
  },
  checked: readonly string[] = [],
): Html => {
  // The boxes of a prefix are one field.
  const { legend, hint, prefix, options, name = prefix } = parts
  ui.refusal?.labels.set(name, legend)
  const errors = errorsOf(ui, name)
  const isChecked = (value: string) =>
    ui.refusal === null ? checked.includes(value) : `${prefix}${value}` in ui.refusal.values
  return html`<fieldset class="${errors.length > 0 ? 'field invalid' : 'field'}" id="${idOf(name)}" tabindex="-1"><legend>${legend}</legend>
${hint !== undefined && html`<p class="hint">${hint}</p>`}
${errorText(ui, errors)}
${options.map(
  (option) =>
    html`<label class="choice"><input type="checkbox" name="${prefix}${option.value}" value="yes"${isChecked(option.value) && html` checked`}> <span>${option.label}${explanation(option)}</span></label>`,
)}
</fieldset>`
}
