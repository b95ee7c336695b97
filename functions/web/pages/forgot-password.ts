import * as v from 'valibot'
import { page } from '#web/http/page.ts'
import { NoticeQuery } from '#web/http/query.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { html } from '#web/http/html.ts'
import { field, form } from '#web/view/form.ts'
import type { Ui } from '#web/view/ui.ts'

// No address is longer.
const MOST_SHOWN = 254

export const showForgotPassword = page({
  route: 'GET /forgot-password',
  access: 'anyone',
  query: NoticeQuery,
  handle: async (context) => (context.query.notice === 'reset-requested' ? sentView(context) : forgotView(context)),
})

/** The same page for every address: nobody learns who has an account. */
export const forgotPassword = page({
  route: 'POST /forgot-password',
  access: 'anyone',
  form: v.object({ email: v.string() }),
  async handle({ form, call, path }) {
    await call('POST /v1/auth/password/forgot', { body: form })
    return redirect(path, { notice: 'reset-requested', about: { who: form.email.trim().slice(0, MOST_SHOWN) } })
  },
  again: async (context) => forgotView(context),
})

/** The notice says where the link went. The address may be mistyped, so the way back to the form stays. */
function sentView({ t }: Ui): View {
  const { forgotPassword: texts } = t
  return view({
    title: texts.title,
    content: html`<p>${texts.wrong} <a href="/forgot-password">${texts.another}</a></p>
<p><a href="/sign-in">${texts.back}</a></p>`,
  })
}

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
