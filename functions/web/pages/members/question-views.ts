import { roleName } from '#shared/identity/role-names.ts'
import { shownEmail } from '#shared/schema/shown-email.ts'
import { shopPath } from '#web/http/addresses.ts'
import { html } from '#web/http/html.ts'
import type { ShopUi } from '#web/http/page.ts'
import { type View, view } from '#web/http/reply.ts'
import { isOwn, type ListedRole, type Member, nameOf } from '#web/pages/members/people.ts'
import { lost } from '#web/pages/members/permitted.ts'
import type { Leaver } from '#web/pages/members/remove-member.ts'
import { memberQuestions } from '#web/texts/member-questions.ts'
import { confirmation } from '#web/view/parts.ts'

export function leavingView(ui: ShopUi): View {
  const texts = memberQuestions[ui.language]
  const { tenant, role } = ui.session
  const members = shopPath(tenant.slug, '/members')
  return view({
    title: texts.leaveTitle(tenant.legal_name),
    content: confirmation(ui, {
      text: html`<p>${texts.leaveText(tenant.legal_name)}</p>${role.code === 'owner' && html`<p>${texts.leaveOwner} <a href="${members}">${ui.t.members.title}</a></p>`}`,
      to: shopPath(tenant.slug, '/leave'),
      label: texts.leaveConfirm,
      back: shopPath(tenant.slug),
    }),
  })
}

export function endView(ui: ShopUi, member: Member): View {
  const texts = memberQuestions[ui.language]
  const { tenant } = ui.session
  const name = nameOf(member)
  return view({
    title: texts.endSessionsTitle(name),
    content: confirmation(ui, {
      text: html`<p>${texts.endSessionsText(name, tenant.legal_name)}</p><p>${texts.endSessionsPassword(name)}</p>`,
      to: shopPath(tenant.slug, `/members/${member.id}/sessions`),
      label: ui.t.members.endSessions,
      back: shopPath(tenant.slug, '/members'),
    }),
  })
}

export function removalView(ui: ShopUi, { member, keys }: Leaver): View {
  const { members } = ui.t
  const { tenant } = ui.session
  const isInvited = member.accepted_at === null
  const back = shopPath(tenant.slug, isInvited ? '/invitations' : '/members')
  const words = wordsOf(ui, member)
  return view({
    title: words.title,
    content: confirmation(ui, {
      text: html`<p>${words.text}</p>
<dl><dt>${members.email}</dt><dd>${shownEmail(member.user.email)}</dd><dt>${members.role}</dt><dd>${roleName(ui.language, member.role)}</dd></dl>
${keys.length > 0 && html`<p>${memberQuestions[ui.language].keysStay} <a href="${shopPath(tenant.slug, '/api-keys')}">${ui.t.apiKeys.navigation.label}</a></p><ul>${keys.map(({ name }) => html`<li>${name}</li>`)}</ul>`}`,
      to: shopPath(tenant.slug, `/members/${member.id}/remove`),
      label: words.confirm,
      back,
    }),
  })
}

function wordsOf({ language, session }: ShopUi, member: Member): { title: string; text: string; confirm: string } {
  const texts = memberQuestions[language]
  const [name, shop] = [nameOf(member), session.tenant.legal_name]
  if (isOwn(session, member))
    return { title: texts.leaveTitle(shop), text: texts.leaveText(shop), confirm: texts.leaveConfirm }
  if (member.accepted_at === null)
    return { title: texts.cancelTitle(name), text: texts.cancelText, confirm: texts.cancelConfirm }
  return { title: texts.removeTitle(name), text: texts.removeText(name, shop), confirm: texts.removeConfirm }
}

export function ownRoleView(ui: ShopUi, member: Member, chosen: ListedRole): View {
  const { t, session, language } = ui
  const texts = memberQuestions[language]
  const to = shopPath(session.tenant.slug, `/members/${member.id}/role`)
  const less = lost(t.roles, session.permissions, chosen.permissions)
  return view({
    title: texts.ownRoleTitle(roleName(language, chosen)),
    content: confirmation(ui, {
      text: html`<p>${less.length === 0 ? texts.losesNothing : texts.loses}</p>
${less.length > 0 && html`<ul class="abilities">${less.map((each) => html`<li>${each}</li>`)}</ul>`}
<p>${texts.othersGive}</p>`,
      to,
      hidden: { role: chosen.code },
      label: texts.changeOwn,
      back: to,
    }),
  })
}
