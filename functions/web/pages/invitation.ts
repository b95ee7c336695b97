import { roleName } from '#shared/identity/role-names.ts'
import { shownEmail } from '#shared/schema/shown-email.ts'
import { shopName } from '#shared/identity/shop-name.ts'
import * as v from 'valibot'
import type { ReplyOf } from '#shared/client/client.ts'
import { shopPath } from '#web/http/addresses.ts'
import { html } from '#web/http/html.ts'
import { closedLink, isInvalidLink, openLink } from '#web/http/link.ts'
import type { Me } from '#web/http/me.ts'
import { type LinkContext, page } from '#web/http/page.ts'
import { optional } from '#web/http/query.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { signInWith } from '#web/pages/sign-in-with.ts'
import { accountField, field, form } from '#web/view/form.ts'
import { withQuery } from '#web/view/parts.ts'
import type { Ui } from '#web/view/ui.ts'

type Invitation = ReplyOf<'POST /v1/auth/invitations/inspect'>

export const showInvitation = page({
  route: 'GET /invitation',
  access: 'link',
  handle: (context) => inspected(context),
})

/**
 * A newcomer sets a name and a password, and is signed in; an existing user joins. Both come to the shop by the choice of one, or by the
 * sign-in. An invitation that is accepted twice is accepted once.
 */
export const acceptInvitation = page({
  route: 'POST /invitation',
  access: 'link',
  form: v.object({ full_name: optional, password: optional, username: optional }),
  async handle(context) {
    const { link, form, call, language, useLink } = context
    const opened = await openInvitation(context)
    if (link === null || opened.is !== 'open') return inspected(context)
    const { full_name, password } = form
    try {
      await call('POST /v1/auth/invitations/accept', { body: { token: link, full_name, password, language } })
    } catch (error) {
      if (isInvalidLink(error)) return inspected(context)
      throw error
    }
    const { email, tenant } = opened.account
    const used = useLink()
    const next = shopPath(tenant.slug)
    const choice = withQuery('/shops', { next })
    if (opened.session !== null) return redirect(choice, { notice: 'joined', cookies: [used] })
    const signedIn = password === null ? null : await signInWith(context, { email, password, next: choice })
    if (signedIn === null)
      return redirect(withQuery('/sign-in', { next }), { notice: 'joined-sign-in', cookies: [used] })
    return redirect(signedIn.to, { notice: 'joined', cookies: [used, ...signedIn.cookies] })
  },
  again: (context) => inspected(context),
})

const openInvitation = (context: LinkContext) =>
  openLink(context, (token) => context.call('POST /v1/auth/invitations/inspect', { body: { token } }))

/** Reads the invitation, which consumes nothing, and shows it. */
async function inspected(context: LinkContext): Promise<View> {
  const opened = await openInvitation(context)
  if (opened.is !== 'open')
    return closedLink(context, opened, { to: '/invitation', way: html`<p>${context.t.invitation.again}</p>` })
  return opened.account.consumed
    ? acceptedView(context, opened.account, opened.session)
    : invitationView(context, opened.account, context.minLength)
}

function acceptedView(ui: Ui, { tenant, email }: Invitation, session: Me | null): View {
  const { invitation: t } = ui.t
  const to = shopPath(tenant.slug)
  return view({
    title: t.acceptedTitle(shopName(tenant)),
    content: html`<p class="prose">${t.accepted(shownEmail(email), shopName(tenant))}</p>
<p><a class="button" href="${session === null ? withQuery('/sign-in', { next: to }) : to}">${session === null ? ui.t.signIn.title : t.open(shopName(tenant))}</a></p>`,
  })
}

function invitationView(
  ui: Ui,
  { tenant, role, role_label: label, email, inviter, account_exists: exists }: Invitation,
  minLength: number,
) {
  const { invitation: t } = ui.t
  const newcomer = [
    accountField(ui, email),
    field(ui, { name: 'full_name', label: t.name, autocomplete: 'name' }),
    field(ui, {
      name: 'password',
      label: t.password,
      hint: ui.t.resetPassword.hint(minLength),
      type: 'password',
      autocomplete: 'new-password',
      minLength,
    }),
  ]
  return view({
    title: t.title(shopName(tenant)),
    content: html`<p class="prose"><strong>${t.meant(shownEmail(email), shopName(tenant))}</strong></p>
<dl>
<dt>${t.shop}</dt><dd>${shopName(tenant)}</dd>
<dt>${t.role}</dt><dd>${roleName(ui.language, { code: role, label })}</dd>
${inviter !== null && html`<dt>${t.inviter}</dt><dd>${inviter.full_name === null ? shownEmail(inviter.email) : `${inviter.full_name} (${shownEmail(inviter.email)})`}</dd>`}
</dl>
<p class="prose">${exists ? t.existing : t.newcomer}</p>
${form(ui, { to: '/invitation', fields: exists ? null : newcomer, submit: exists ? t.join : t.create, hidden: exists ? { username: email } : {} })}`,
  })
}
