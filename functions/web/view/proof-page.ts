import { html } from '#web/http/html.ts'
import { type View, view } from '#web/http/reply.ts'
import { form } from '#web/view/form.ts'
import type { Ui } from '#web/view/ui.ts'

/** The page that asks for a proof of presence, and then does what the person pressed. `back` is the page of the button. */
export const proofPage = (ui: Ui, back: string): View => {
  const { secondFactor: t } = ui.t
  return view({
    title: t.confirm,
    content: html`<p class="prose">${t.confirmText}</p>
${form(ui, { to: ui.path, hidden: ui.refusal?.values ?? {}, fields: null, submit: t.confirmSubmit, back })}`,
  })
}
