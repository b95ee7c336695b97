import { shopPath } from '#web/http/addresses.ts'
import { html } from '#web/http/html.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { unlessGone } from '#web/http/unless-gone.ts'
import { type Member, nameOf } from '#web/pages/members/people.ts'
import { confirmation } from '#web/view/parts.ts'

export const confirmEndOfSessions = page({
  route: 'GET /s/{slug}/members/{id}/sessions',
  access: { permission: 'member.manage' },
  load: ({ call, params }) => call('GET /v1/members/{id}', { params: { id: params.id } }),
  handle: async (context) => endView(context, context.data),
})

export const endMemberSessions = page({
  route: 'POST /s/{slug}/members/{id}/sessions',
  access: { permission: 'member.manage' },
  stepUp: 'DELETE /v1/members/{id}/sessions',
  async handle({ params, call }) {
    const member = await unlessGone(call('DELETE /v1/members/{id}/sessions', { params: { id: params.id } }))
    const about = { who: member === null ? '' : nameOf(member) }
    return redirect(shopPath(params.slug, '/members'), { notice: 'member-sessions-ended', about })
  },
  again: async (context) =>
    endView(context, await context.call('GET /v1/members/{id}', { params: { id: context.params.id } })),
})

function endView(ui: ShopUi, member: Member): View {
  const { members: texts } = ui.t
  const { tenant } = ui.session
  const name = nameOf(member)
  return view({
    title: texts.endSessionsTitle(name),
    content: confirmation(ui, {
      text: html`<p>${texts.endSessionsText(name, tenant.legal_name)}</p><p>${texts.endSessionsPassword(name)}</p>`,
      to: shopPath(tenant.slug, `/members/${member.id}/sessions`),
      label: texts.endSessions,
      back: shopPath(tenant.slug, '/members'),
    }),
  })
}
