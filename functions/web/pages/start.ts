import { html } from '#web/html.ts'
import { NAVIGATION } from '#web/navigation.ts'
import { page } from '#web/page.ts'
import { view } from '#web/reply.ts'
import { holds } from '#shared/role/permissions.ts'

/** The start page of a shop: the shop, the role of the person, and what the role may do. */
export const start = page({
  route: 'GET /s/{slug}',
  access: { permission: null },
  async handle({ session, t, path }) {
    const { tenant, role, user, permissions } = session
    const entries = NAVIGATION.filter(
      (entry) => entry.name !== 'start' && (entry.permission === null || holds(permissions, entry.permission)),
    )
    return view({
      title: tenant.legal_name,
      content: html`<p>${t.start.greeting(user.full_name ?? user.email)}</p>
<dl><dt>${t.start.role}</dt><dd>${role.label}</dd><dt>${t.start.status}</dt><dd>${t.shops.statuses[tenant.status]}</dd><dt>${t.start.timezone}</dt><dd>${tenant.timezone}</dd></dl>
<h2>${t.start.mayDo}</h2>
${
  entries.length === 0
    ? html`<p>${t.start.nothing}</p>`
    : html`<ul class="cards">${entries.map(
        (entry) =>
          html`<li class="card"><h3><a href="${entry.path.replace('/s/{slug}', path)}">${t.navigation[entry.name].label}</a></h3><p>${t.navigation[entry.name].purpose}</p></li>`,
      )}</ul>`
}`,
    })
  },
})
