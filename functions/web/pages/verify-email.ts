import { shownEmail } from '#shared/schema/shown-email.ts'
import * as v from 'valibot'
import { type Html, html } from '#web/http/html.ts'
import { closedLink, isInvalidLink, openLink } from '#web/http/link.ts'
import { type LinkContext, page } from '#web/http/page.ts'
import { optional } from '#web/http/query.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import type { Me } from '#web/http/me.ts'
import { actionButton } from '#web/view/form.ts'
import type { Ui } from '#web/view/ui.ts'

export const showVerifyEmail = page({
  route: 'GET /verify-email',
  access: 'link',
  handle: (context) => verification(context),
})

/** Verifies the address that the link is for. A link that was used before changes nothing. */
export const verifyEmail = page({
  route: 'POST /verify-email',
  access: 'link',
  form: v.object({ username: optional }),
  async handle(context) {
    const { link, call, findSession, useLink } = context
    const opened = await openVerification(context)
    if (link === null || opened.is === 'missing' || opened.is === 'of somebody else') return verification(context)
    try {
      await call('POST /v1/auth/verify', { body: { token: link } })
    } catch (error) {
      if (isInvalidLink(error)) return verification(context)
      throw error
    }
    const to = (await findSession()) === null ? '/sign-in' : '/'
    return redirect(to, { notice: opened.is === 'open' ? 'email-verified' : 'verify-link-used', cookies: [useLink()] })
  },
  again: (context) => verification(context),
})

/** Mails another link to the person who is signed in. */
export const resendVerification = page({
  route: 'POST /verify-email/resend',
  access: 'session',
  formAt: '/account',
  async handle({ call }) {
    await call('POST /v1/auth/verify/resend')
    return redirect('/account', { notice: 'verification-sent' })
  },
})

const openVerification = (context: LinkContext) =>
  openLink(context, (token) => context.call('POST /v1/auth/verify/inspect', { body: { token } }))

async function verification(context: LinkContext): Promise<View> {
  const { t, findSession } = context
  const opened = await openVerification(context)
  if (opened.is !== 'open')
    return closedLink(context, opened, { to: '/verify-email', way: newVerification(context, await findSession()) })
  const { email } = opened.account
  return view({
    title: t.verifyEmail.title(shownEmail(email)),
    content: html`<p class="prose">${t.verifyEmail.intro}</p>
${actionButton(context, { to: '/verify-email', hidden: { username: email }, label: t.verifyEmail.submit, style: 'main' })}`,
  })
}

/** Only somebody who is signed in can ask for a new link, because the API mails it to their own address. */
function newVerification(ui: Ui, session: Me | null): Html {
  const { verifyEmail: t } = ui.t
  if (session === null) return html`<p>${t.signInFirst}</p><p><a href="/sign-in">${ui.t.signIn.title}</a></p>`
  const { email, email_verified_at: at } = session.user
  return at === null
    ? html`<p>${t.again(shownEmail(email))}</p>${actionButton({ ...ui, session }, { to: '/verify-email/resend', label: t.resend, style: 'main' })}`
    : html`<p>${t.isVerified(shownEmail(email))}</p>`
}
