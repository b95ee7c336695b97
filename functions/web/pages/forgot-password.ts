import * as v from 'valibot'
import { page } from '#web/http/page.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { html } from '#web/http/html.ts'
import { field, form } from '#web/view/form.ts'
import type { Ui } from '#web/view/ui.ts'

export const showForgotPassword = page({
  route: 'GET /forgot-password',
  access: 'anyone',
  handle: async (context) => forgotView(context),
})

/** The same page for every address: nobody learns who has an account. */
export const forgotPassword = page({
  route: 'POST /forgot-password',
  access: 'anyone',
  form: v.object({ email: v.string() }),
  async handle({ form, call, path }) {
    await call('POST /v1/auth/password/forgot', { body: form })
    return redirect(path, { notice: 'reset-requested' })
  },
  again: async (context) => forgotView(context),
})

function forgotView(ui: Ui): View {
  const { forgotPassword: t } = ui.t
  return view({
    title: t.title,
    content: html`<p class="prose">${t.intro}</p>
${form(ui, {
  to: '/forgot-password',
  fields: field(ui, { name: 'email', label: t.email, type: 'email', autocomplete: 'username' }),
  submit: t.submit,
})}
<p><a href="/sign-in">${t.back}</a></p>`,
  })
}
