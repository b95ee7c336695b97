import * as v from 'valibot'
import { deleteCookie } from '#web/http/cookies.ts'
import { html } from '#web/http/html.ts'
import { invalidLink, isInvalidLink } from '#web/http/link.ts'
import { page } from '#web/http/page.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { field, form } from '#web/view/form.ts'
import type { Ui } from '#web/view/ui.ts'

export const showResetPassword = page({
  route: 'GET /reset-password',
  access: 'link',
  handle: async (context) => (context.link === null ? invalidReset(context) : resetView(context, context.minLength)),
})

/** A link that is used twice changes nothing, and the API does not say so. The notice is true in both cases. */
export const resetPassword = page({
  route: 'POST /reset-password',
  access: 'link',
  form: v.object({ password: v.string() }),
  async handle(context) {
    const { link, form, call } = context
    if (link === null) return invalidReset(context)
    try {
      await call('POST /v1/auth/password/reset', { body: { token: link, password: form.password } })
    } catch (error) {
      if (isInvalidLink(error)) return invalidReset(context)
      throw error
    }
    return redirect('/sign-in', { notice: 'sign-in-with-password', cookies: [deleteCookie('link')] })
  },
  again: async (context) => resetView(context, context.minLength),
})

const invalidReset = (ui: Ui): View =>
  invalidLink(ui, html`<p><a href="/forgot-password">${ui.t.resetPassword.again}</a></p>`)

function resetView(ui: Ui, minLength: number): View {
  const { resetPassword: t } = ui.t
  return view({
    title: t.title,
    content: form(ui, {
      to: '/reset-password',
      fields: field(ui, {
        name: 'password',
        label: t.password,
        hint: t.hint(minLength),
        type: 'password',
        autocomplete: 'new-password',
      }),
      submit: t.submit,
    }),
  })
}
