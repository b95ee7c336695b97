import { shopPath } from '#web/http/addresses.ts'
import { deleteCookie } from '#web/http/cookies.ts'
import { html } from '#web/http/html.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { type PageReply, redirect, type View, view } from '#web/http/reply.ts'
import { unlessGone } from '#web/http/unless-gone.ts'
import { confirmation } from '#web/view/parts.ts'

export const confirmLeaving = page({
  route: 'GET /s/{slug}/leave',
  access: { permission: null },
  handle: async (context) => leavingView(context),
})

export const leaveShop = page({
  route: 'POST /s/{slug}/leave',
  access: { permission: null },
  stepUp: 'DELETE /v1/auth/tenants/{id}',
  async handle({ call, session }) {
    await unlessGone(call('DELETE /v1/auth/tenants/{id}', { params: { id: session.tenant.id } }))
    return shopLeft(session)
  },
  again: async (context) => leavingView(context),
})

/** Leads a person who has left the shop to the sign-in: their sessions in it have ended. */
export const shopLeft = ({ tenant }: ShopUi['session']): PageReply =>
  redirect('/sign-in', {
    notice: 'shop-left',
    about: { shop: tenant.legal_name },
    cookies: [deleteCookie('session'), deleteCookie('csrf')],
  })

function leavingView(ui: ShopUi): View {
  const { members: texts } = ui.t
  const { tenant, role } = ui.session
  const members = shopPath(tenant.slug, '/members')
  return view({
    title: texts.leaveTitle(tenant.legal_name),
    content: confirmation(ui, {
      text: html`<p>${texts.leaveText(tenant.legal_name)}</p>${role.code === 'owner' && html`<p>${texts.leaveOwner} <a href="${members}">${texts.title}</a></p>`}`,
      to: shopPath(tenant.slug, '/leave'),
      label: texts.leaveConfirm,
      back: shopPath(tenant.slug),
    }),
  })
}
