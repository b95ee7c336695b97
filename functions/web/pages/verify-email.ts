import { deleteCookie } from '#web/http/cookies.ts'
import { html } from '#web/http/html.ts'
import { invalidLink, isInvalidLink } from '#web/http/link.ts'
import { page } from '#web/http/page.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import type { Me } from '#web/http/me.ts'
import { actionButton } from '#web/view/form.ts'
import type { Ui } from '#web/view/ui.ts'

export const showVerifyEmail = page({
  route: 'GET /verify-email',
  access: 'link',
  async handle(context) {
    const { t, link, findSession } = context
    if (link === null) return invalidVerification(context, await findSession())
    return view({
      title: t.verifyEmail.title,
      content: html`<p class="prose">${t.verifyEmail.intro}</p>
${actionButton(context, { to: '/verify-email', label: t.verifyEmail.submit, style: 'main' })}`,
    })
  },
})

export const verifyEmail = page({
  route: 'POST /verify-email',
  access: 'link',
  async handle(context) {
    const { link, call, findSession } = context
    if (link === null) return invalidVerification(context, await findSession())
    try {
      await call('POST /v1/auth/verify', { body: { token: link } })
    } catch (error) {
      if (isInvalidLink(error)) return invalidVerification(context, await findSession())
      throw error
    }
    return redirect('/sign-in', { notice: 'email-verified', cookies: [deleteCookie('link')] })
  },
})

/** Mails another link to the person who is signed in. */
export const resendVerification = page({
  route: 'POST /verify-email/resend',
  access: 'session',
  async handle({ call }) {
    await call('POST /v1/auth/verify/resend')
    return redirect('/', { notice: 'verification-sent' })
  },
})

/** Only somebody who is signed in can ask for a new link, because the API mails it to their own address. */
function invalidVerification(ui: Ui, session: Me | null): View {
  const { verifyEmail: t } = ui.t
  const signedIn = { ...ui, session }
  return invalidLink(
    ui,
    session === null
      ? html`<p>${t.signInFirst}</p><p><a href="/sign-in">${ui.t.signIn.title}</a></p>`
      : html`<p>${t.again(session.user.email)}</p>${actionButton(signedIn, { to: '/verify-email/resend', label: t.resend, style: 'main' })}`,
  )
}
