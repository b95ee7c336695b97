import { roleName } from '#shared/identity/role-names.ts'
import type { Client, ReplyOf } from '#shared/client/client.ts'
import { shownEmail } from '#shared/schema/shown-email.ts'
import { shopPath } from '#web/http/addresses.ts'
import { html } from '#web/http/html.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { unlessGone } from '#web/http/unless-gone.ts'
import { shopLeft } from '#web/pages/members/leave.ts'
import { confirmation } from '#web/view/parts.ts'
import { isOwn, type Member, nameOf } from '#web/pages/members/people.ts'

export const confirmRemoval = page({
  route: 'GET /s/{slug}/members/{id}/remove',
  access: { permission: 'member.manage' },
  load: ({ call, params }) => findLeaver(call, params.id),
  handle: async (context) => removalView(context, context.data),
})

/** Who removes themself has left the shop, and their sessions in it have ended. */
export const removeMember = page({
  route: 'POST /s/{slug}/members/{id}/remove',
  access: { permission: 'member.manage' },
  stepUp: 'DELETE /v1/members/{id}',
  async handle({ params, call, session }) {
    const removed = await unlessGone(call('DELETE /v1/members/{id}', { params: { id: params.id } }))
    if (removed !== null && isOwn(session, removed)) return shopLeft(session)
    const about = { who: removed === null ? '' : nameOf(removed) }
    return removed !== null && removed.accepted_at === null
      ? redirect(shopPath(params.slug, '/invitations'), { notice: 'invitation-cancelled', about })
      : redirect(shopPath(params.slug, '/members'), { notice: 'member-removed', about })
  },
  again: async (context) => removalView(context, await findLeaver(context.call, context.params.id)),
})

interface Leaver {
  readonly member: Member
  /** The live API keys that they created. Nothing revokes them silently. */
  readonly keys: ReplyOf<'GET /v1/api-keys'>['data']
}

async function findLeaver(call: Client['call'], id: string): Promise<Leaver> {
  const member = await call('GET /v1/members/{id}', { params: { id } })
  const { id: userId } = member.user
  if (userId === null) return { member, keys: [] }
  const { data: keys } = await call('GET /v1/api-keys', { query: { status: 'live', created_by: userId, limit: 100 } })
  return { member, keys }
}

function removalView(ui: ShopUi, { member, keys }: Leaver): View {
  const { members: texts } = ui.t
  const { tenant } = ui.session
  const isInvited = member.accepted_at === null
  const back = shopPath(tenant.slug, isInvited ? '/invitations' : '/members')
  const words = wordsOf(ui, member)
  return view({
    title: words.title,
    content: confirmation(ui, {
      text: html`<p>${words.text}</p>
<dl><dt>${texts.email}</dt><dd>${shownEmail(member.user.email)}</dd><dt>${texts.role}</dt><dd>${roleName(ui.language, member.role)}</dd></dl>
${keys.length > 0 && html`<p>${texts.keysStay} <a href="${shopPath(tenant.slug, '/api-keys')}">${ui.t.apiKeys.navigation.label}</a></p><ul>${keys.map(({ name }) => html`<li>${name}</li>`)}</ul>`}`,
      to: shopPath(tenant.slug, `/members/${member.id}/remove`),
      label: words.confirm,
      back,
    }),
  })
}

function wordsOf({ t, session }: ShopUi, member: Member): { title: string; text: string; confirm: string } {
  const { members: texts, invitations } = t
  const [name, shop] = [nameOf(member), session.tenant.legal_name]
  if (isOwn(session, member))
    return { title: texts.leaveTitle(shop), text: texts.leaveText(shop), confirm: texts.leaveConfirm }
  if (member.accepted_at === null)
    return { title: invitations.cancelTitle(name), text: invitations.cancelText, confirm: invitations.cancelConfirm }
  return { title: texts.removeTitle(name), text: texts.removeText(name, shop), confirm: texts.removeConfirm }
}
