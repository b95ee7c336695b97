import { shownEmail } from '#shared/schema/shown-email.ts'
import { shopPath } from '#web/http/addresses.ts'
import { html } from '#web/http/html.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { unlessGone } from '#web/http/unless-gone.ts'
import { confirmation } from '#web/view/parts.ts'
import { type Member, nameOf } from '#web/pages/members/people.ts'

export const confirmRemoval = page({
  route: 'GET /s/{slug}/members/{id}/remove',
  access: { permission: 'member.manage' },
  load: ({ call, params }) => call('GET /v1/members/{id}', { params: { id: params.id } }),
  handle: async (context) => removalView(context, context.data),
})

export const removeMember = page({
  route: 'POST /s/{slug}/members/{id}/remove',
  access: { permission: 'member.manage' },
  async handle({ params, call }) {
    await unlessGone(call('DELETE /v1/members/{id}', { params: { id: params.id } }))
    return redirect(shopPath(params.slug, '/members'), { notice: 'member-removed' })
  },
  again: async (context) =>
    removalView(context, await context.call('GET /v1/members/{id}', { params: { id: context.params.id } })),
})

function removalView(ui: ShopUi, member: Member): View {
  const { members: texts } = ui.t
  const back = shopPath(ui.session.tenant.slug, '/members')
  const to = `${back}/${member.id}/remove`
  return view({
    title: texts.removeTitle(nameOf(member)),
    content: confirmation(ui, {
      text: html`<p>${texts.removeText(nameOf(member), ui.session.tenant.legal_name)}</p>
<dl><dt>${texts.email}</dt><dd>${shownEmail(member.user.email)}</dd><dt>${texts.role}</dt><dd>${member.role.label}</dd></dl>`,
      to,
      label: texts.removeConfirm,
      back,
    }),
  })
}
