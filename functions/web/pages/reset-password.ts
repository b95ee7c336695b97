import { shownEmail } from '#shared/schema/shown-email.ts'
import * as v from 'valibot'
import { html } from '#web/http/html.ts'
import { closedLink, isInvalidLink, openLink } from '#web/http/link.ts'
import { type LinkContext, page } from '#web/http/page.ts'
import { optional } from '#web/http/query.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { signInWith } from '#web/pages/sign-in-with.ts'
import { accountField, field, form } from '#web/view/form.ts'
import type { Ui } from '#web/view/ui.ts'

export const showResetPassword = page({
  route: 'GET /reset-password',
  access: 'link',
  handle: (context) => showReset(context),
})

/** Sets the password of the account that the link is for, and signs in with it. A link that was used before changes nothing. */
export const resetPassword = page({
  route: 'POST /reset-password',
  access: 'link',
  form: v.object({ password: v.string(), username: optional }),
  async handle(context) {
    const { link, form, call, useLink } = context
    const opened = await openReset(context)
    if (link === null || opened.is === 'missing' || opened.is === 'of somebody else') return showReset(context)
    try {
      await call('POST /v1/auth/password/reset', { body: { token: link, password: form.password } })
    } catch (error) {
      if (isInvalidLink(error)) return showReset(context)
      throw error
    }
    const isNow = opened.is === 'open'
    const email = isNow ? opened.account.email : (form.username ?? '')
    const signedIn = await signInWith(context, { email, password: form.password })
    if (signedIn !== null)
      return redirect(signedIn.to, { notice: 'password-set', cookies: [useLink(), ...signedIn.cookies] })
    return redirect('/sign-in', { notice: isNow ? 'password-set' : 'reset-link-used', cookies: [useLink()] })
  },
  again: (context) => showReset(context),
})

const openReset = (context: LinkContext) =>
  openLink(context, (token) => context.call('POST /v1/auth/password/inspect', { body: { token } }))

async function showReset(context: LinkContext): Promise<View> {
  const opened = await openReset(context)
  if (opened.is === 'open') return resetView(context, opened.account.email, context.minLength)
  const { again, used } = context.t.resetPassword
  return closedLink(context, opened, {
    to: '/reset-password',
    way: html`<p>${used}</p><p><a href="/forgot-password">${again}</a></p>`,
  })
}

function resetView(ui: Ui, email: string, minLength: number): View {
  const { resetPassword: t } = ui.t
  return view({
    title: t.title(shownEmail(email)),
    content: form(ui, {
      to: '/reset-password',
      fields: [
        accountField(ui, email),
        field(ui, {
          name: 'password',
          label: t.password,
          hint: t.hint(minLength),
          type: 'password',
          autocomplete: 'new-password',
          minLength,
        }),
      ],
      submit: t.submit,
    }),
  })
}
