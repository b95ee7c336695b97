import { type Content, type Html, html } from '#web/http/html.ts'
import { hiddenFields, passkeyPart, proofFields } from '#web/view/form.ts'
import type { Ui } from '#web/view/ui.ts'

/**
 * A form that a passkey sends in its field `credential`. It is hidden without scripts, and in a browser without passkeys. `options` are
 * the API's. With `autofill`, the browser also offers passkeys at the field of the email.
 */
export const passkeyForm = (
  ui: Ui,
  {
    to,
    hidden = {},
    options,
    fields = null,
    submit,
    autofill = false,
    back,
  }: {
    readonly to: string
    readonly hidden?: Readonly<Record<string, string>>
    readonly options: object
    readonly fields?: Content
    readonly submit: string
    readonly autofill?: boolean
    readonly back?: string
  },
): Html => {
  ui.needs.script = true
  ui.needs.passkey = options
  return html`<form class="form" method="post" action="${to}" novalidate>
${hiddenFields({ ...ui.bound(to), ...hidden })}
${passkeyPart(ui, {
  name: 'credential',
  above: html`${fields}${proofFields(ui, to)}`,
  button: html`<button type="submit"${fields === null && html` class="plain"`}>${submit}</button>`,
  back,
  // A page that says what was wrong would send itself again and again.
  autofill: autofill && ui.refusal === null,
})}
</form>`
}
