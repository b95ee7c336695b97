import { roleName } from '#shared/identity/role-names.ts'
import { shownEmail } from '#shared/schema/shown-email.ts'
import { type Html, html } from '#web/http/html.ts'
import { linksFor } from '#web/http/navigation.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { view } from '#web/http/reply.ts'
import { abilities } from '#web/pages/members/permitted.ts'
import type { Ui } from '#web/view/ui.ts'

/** The start page of a shop: the shop, the role of the person, the pages that they may open, and what the role permits. */
export const start = page({
  route: 'GET /s/{slug}',
  access: { permission: null },
  navigation: 'start',
  async handle(context) {
    const { session, t, language } = context
    const { tenant, role, user, permissions } = session
    const links = linksFor(context, tenant.slug, permissions).filter(({ name }) => name !== 'start')
    return view({
      title: tenant.legal_name,
      content: html`<p>${t.start.greeting(user.full_name ?? shownEmail(user.email))}</p>
<dl><dt>${t.start.role}</dt><dd>${roleName(language, role)}</dd><dt>${t.start.status}</dt><dd>${t.shops.statuses[tenant.status]}</dd><dt>${t.start.timezone}</dt><dd>${tenant.timezone}</dd></dl>
${
  links.length === 0
    ? elsewhere(context)
    : html`<ul class="cards">${links.map(
        ({ name, to }) =>
          html`<li class="card"><h2><a href="${to}">${t[name].navigation.label}</a></h2><p>${t[name].navigation.purpose}</p></li>`,
      )}</ul>`
}
${permitted(context)}`,
    })
  },
})

/** Where a person works whose role has no page here: in the other applications of the platform. */
const elsewhere = ({ t, platform }: Ui): Html | null =>
  platform.links.length === 0
    ? null
    : html`<h2>${t.start.elsewhere(platform.name)}</h2>
<ul class="cards">${platform.links.map(({ name, url }) => html`<li class="card"><h3><a href="${url}">${name}</a></h3></li>`)}</ul>`

function permitted({ t, session }: ShopUi): Html {
  const all = abilities(t.roles, session.permissions)
  return html`<h2>${t.start.mayDo}</h2>
${all.length === 0 ? html`<p>${t.start.nothing}</p>` : html`<ul class="abilities">${all.map((each) => html`<li>${each}</li>`)}</ul>`}`
}
