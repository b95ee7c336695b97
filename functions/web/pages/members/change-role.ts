import { roleName } from '#shared/identity/role-names.ts'
import { shownEmail } from '#shared/schema/shown-email.ts'
import * as v from 'valibot'
import type { Client } from '#shared/client/client.ts'
import { shopPath } from '#web/http/addresses.ts'
import { html } from '#web/http/html.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { optional } from '#web/http/query.ts'
import { explained, isOwn, type ListedRole, type Member, nameOf } from '#web/pages/members/people.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { radios } from '#web/view/choices.ts'
import { form } from '#web/view/form.ts'
import { withQuery } from '#web/view/parts.ts'

interface Found {
  readonly member: Member
  readonly roles: readonly ListedRole[]
}

async function findMember(call: Client['call'], id: string): Promise<Found> {
  const member = await call('GET /v1/members/{id}', { params: { id }, query: { include: 'roles' } })
  return { member, roles: member.roles ?? [] }
}

export const chooseRole = page({
  route: 'GET /s/{slug}/members/{id}/role',
  access: { permission: 'member.manage' },
  query: v.object({ to: optional }),
  load: ({ call, params }) => findMember(call, params.id),
  async handle(context) {
    const { data, query, session } = context
    const chosen = data.roles.find(({ code }) => code === query.to && code !== data.member.role.code)
    return isOwn(session, data.member) && chosen !== undefined
      ? (await import('#web/pages/members/question-views.ts')).ownRoleView(context, data.member, chosen)
      : roleView(context, data)
  },
})

/** A person who changes their own role is asked first, on a page that says what they lose. */
export const changeMemberRole = page({
  route: 'POST /s/{slug}/members/{id}/role',
  access: { permission: 'member.manage' },
  stepUp: 'PATCH /v1/members/{id}',
  form: v.object({ role: v.string(), own: optional }),
  async handle({ params, form, call, session, language, path }) {
    const { role, own } = form
    if (own === 'asks' && role !== session.role.code) return redirect(withQuery(path, { to: role }))
    const member = await call('PATCH /v1/members/{id}', { params: { id: params.id }, body: { role } })
    const about = { who: nameOf(member), role: roleName(language, member.role) }
    if (isOwn(session, member)) return redirect(shopPath(params.slug), { notice: 'own-role-changed', about })
    return member.accepted_at === null
      ? redirect(shopPath(params.slug, '/invitations'), { notice: 'invited-role-changed', about })
      : redirect(shopPath(params.slug, '/members'), { notice: 'role-changed', about })
  },
  again: async (context) => roleView(context, await findMember(context.call, context.params.id)),
})

/** Offers the roles that the person may give, each with what it may do. */
function roleView(ui: ShopUi, { member, roles }: Found): View {
  const { t, session } = ui
  const back = shopPath(session.tenant.slug, member.accepted_at === null ? '/invitations' : '/members')
  return view({
    title: isOwn(session, member) ? t.members.ownRole : t.members.roleOf(nameOf(member)),
    content: html`<p class="quiet">${shownEmail(member.user.email)}</p>
${form(ui, {
  to: shopPath(session.tenant.slug, `/members/${member.id}/role`),
  hidden: isOwn(session, member) ? { own: 'asks' } : {},
  fields: radios(ui, {
    name: 'role',
    legend: t.members.role,
    value: member.role.code,
    options: explained(ui, roles),
  }),
  submit: t.members.change,
  back,
})}`,
  })
}
