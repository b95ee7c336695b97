import { shopName } from '#shared/identity/shop-name.ts'
import * as v from 'valibot'
import type { ReplyOf } from '#shared/client/client.ts'
import { deleteCookie } from '#web/http/cookies.ts'
import { html } from '#web/http/html.ts'
import { invalidLink, isInvalidLink } from '#web/http/link.ts'
import { page } from '#web/http/page.ts'
import { optional } from '#web/http/query.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import type { Client } from '#shared/client/client.ts'
import { field, form } from '#web/view/form.ts'
import type { Ui } from '#web/view/ui.ts'

type Invitation = ReplyOf<'POST /v1/auth/invitations/inspect'>

interface Opened extends Ui {
  readonly link: string | null
  readonly call: Client['call']
  readonly minLength: number
}

export const showInvitation = page({
  route: 'GET /invitation',
  access: 'link',
  handle: (context) => inspected(context),
})

/** A newcomer sets a name and a password; an existing user joins. An invitation that is accepted twice is accepted once. */
export const acceptInvitation = page({
  route: 'POST /invitation',
  access: 'link',
  form: v.object({ full_name: optional, password: optional }),
  async handle(context) {
    const { link, form, call, language } = context
    if (link === null) return invalidInvitation(context)
    try {
      await call('POST /v1/auth/invitations/accept', { body: { token: link, ...form, language } })
    } catch (error) {
      if (isInvalidLink(error)) return invalidInvitation(context)
      throw error
    }
    return redirect('/sign-in', { notice: 'sign-in-with-password', cookies: [deleteCookie('link')] })
  },
  again: (context) => inspected(context),
})

/** Reads the invitation, which consumes nothing, and shows it. */
async function inspected(context: Opened): Promise<View> {
  const { link, call, minLength } = context
  if (link === null) return invalidInvitation(context)
  try {
    return invitationView(
      context,
      await call('POST /v1/auth/invitations/inspect', { body: { token: link } }),
      minLength,
    )
  } catch (error) {
    if (isInvalidLink(error)) return invalidInvitation(context)
    throw error
  }
}

const invalidInvitation = (ui: Ui): View => invalidLink(ui, html`<p>${ui.t.invitation.again}</p>`)

function invitationView(
  ui: Ui,
  { tenant, role_label: role, email, inviter, account_exists: exists }: Invitation,
  minLength: number,
) {
  const { invitation: t } = ui.t
  const newcomer = [
    field(ui, { name: 'full_name', label: t.name, autocomplete: 'name' }),
    field(ui, {
      name: 'password',
      label: t.password,
      hint: ui.t.resetPassword.hint(minLength),
      type: 'password',
      autocomplete: 'new-password',
    }),
  ]
  return view({
    title: t.title(shopName(tenant)),
    content: html`<dl>
<dt>${t.shop}</dt><dd>${shopName(tenant)}</dd>
<dt>${t.role}</dt><dd>${role}</dd>
${inviter !== null && html`<dt>${t.inviter}</dt><dd>${inviter.full_name === null ? inviter.email : `${inviter.full_name} (${inviter.email})`}</dd>`}
<dt>${t.email}</dt><dd>${email}</dd>
</dl>
<p class="prose">${exists ? t.existing : t.newcomer}</p>
${form(ui, { to: '/invitation', fields: exists ? null : newcomer, submit: exists ? t.join : t.create })}`,
  })
}
