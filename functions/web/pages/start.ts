import { shownEmail } from '#shared/schema/shown-email.ts'
import { type Html, html } from '#web/http/html.ts'
import { linksFor } from '#web/http/navigation.ts'
import { page } from '#web/http/page.ts'
import { view } from '#web/http/reply.ts'
import type { Ui } from '#web/view/ui.ts'

/** Where a person works whose role has no page here: in the other applications of the platform. */
const elsewhere = ({ t, platform }: Ui): Html =>
  platform.links.length === 0
    ? html`<p>${t.start.nothing}</p>`
    : html`<p>${t.start.elsewhere(platform.name)}</p>
<ul class="cards">${platform.links.map(({ name, url }) => html`<li class="card"><h3><a href="${url}">${name}</a></h3></li>`)}</ul>`

/** The start page of a shop: the shop, the role of the person, and what the role may do. */
export const start = page({
  route: 'GET /s/{slug}',
  access: { permission: null },
  navigation: 'start',
  async handle(context) {
    const { session, t } = context
    const { tenant, role, user, permissions } = session
    const links = linksFor(context, tenant.slug, permissions).filter(({ name }) => name !== 'start')
    return view({
      title: tenant.legal_name,
      content: html`<p>${t.start.greeting(user.full_name ?? shownEmail(user.email))}</p>
<dl><dt>${t.start.role}</dt><dd>${role.label}</dd><dt>${t.start.status}</dt><dd>${t.shops.statuses[tenant.status]}</dd><dt>${t.start.timezone}</dt><dd>${tenant.timezone}</dd></dl>
<h2>${t.start.mayDo}</h2>
${
  links.length === 0
    ? elsewhere(context)
    : html`<ul class="cards">${links.map(
        ({ name, to }) =>
          html`<li class="card"><h3><a href="${to}">${t[name].navigation.label}</a></h3><p>${t[name].navigation.purpose}</p></li>`,
      )}</ul>`
}`,
    })
  },
})
