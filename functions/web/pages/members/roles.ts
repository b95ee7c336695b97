import { mayGive } from '#shared/identity/may-give.ts'
import { roleName } from '#shared/identity/role-names.ts'
import { shopPath } from '#web/http/addresses.ts'
import { html } from '#web/http/html.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { NoticeQuery } from '#web/http/query.ts'
import { type View, view } from '#web/http/reply.ts'
import type { ListedRole } from '#web/pages/members/people.ts'
import { roleMatrix } from '#web/pages/members/role-matrix.ts'

export const listRoles = page({
  route: 'GET /s/{slug}/roles',
  access: { permission: 'member.manage' },
  navigation: 'roles',
  query: NoticeQuery,
  load: ({ call }) => call('GET /v1/roles'),
  handle: async (context) => rolesView(context, context.data.data),
})

function rolesView(ui: ShopUi, roles: readonly ListedRole[]): View {
  const { session, language } = ui
  const { roles: texts } = ui.t
  const base = shopPath(session.tenant.slug, '/roles')
  const own = roles.filter(({ tenant_role: isOwn }) => isOwn)
  const basis = ({ based_on: code }: ListedRole) => roles.find((role) => role.code === code && !role.tenant_role)
  return view({
    title: texts.title,
    content: html`<p><a class="button" href="${base}/new">${texts.newTitle}</a></p>
${
  own.length > 0 &&
  html`<h2>${texts.ofShop}</h2>
<ul>${own.map((role) => {
    const of = basis(role)
    return html`<li>${mayGive(session, role) ? html`<a href="${base}/${role.id}">${role.label}</a>` : role.label}${of !== undefined && html` <span class="quiet">${texts.basedOn} ${roleName(language, of)}</span>`}</li>`
  })}</ul>`
}
<h2>${texts.matrix}</h2>
${roleMatrix(ui, roles)}`,
  })
}
