import { deleteCookie } from '#web/http/cookies.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { type PageReply, redirect } from '#web/http/reply.ts'
import { unlessGone } from '#web/http/unless-gone.ts'

/** Few open these pages, so a start of the function reads neither their markup nor their texts. */
const views = () => import('#web/pages/members/question-views.ts')

export const confirmLeaving = page({
  route: 'GET /s/{slug}/leave',
  access: { permission: null },
  handle: async (context) => (await views()).leavingView(context),
})

export const leaveShop = page({
  route: 'POST /s/{slug}/leave',
  access: { permission: null },
  stepUp: 'DELETE /v1/auth/tenants/{id}',
  async handle({ call, session }) {
    await unlessGone(call('DELETE /v1/auth/tenants/{id}', { params: { id: session.tenant.id } }))
    return shopLeft(session)
  },
  again: async (context) => (await views()).leavingView(context),
})

/** Leads a person who has left the shop to the sign-in: their sessions in it have ended. */
export const shopLeft = ({ tenant }: ShopUi['session']): PageReply =>
  redirect('/sign-in', {
    notice: 'shop-left',
    about: { shop: tenant.legal_name },
    cookies: [deleteCookie('session'), deleteCookie('csrf')],
  })
