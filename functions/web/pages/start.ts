import { MOST_FAILED_SIGN_INS } from '#shared/audit/most-failed-sign-ins.ts'
import { roleName } from '#shared/identity/role-names.ts'
import { shownEmail } from '#shared/schema/shown-email.ts'
import { shopPath } from '#web/http/addresses.ts'
import { type Content, type Html, html } from '#web/http/html.ts'
import { linksFor } from '#web/http/navigation.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { view } from '#web/http/reply.ts'
import { abilities } from '#web/pages/members/permitted.ts'
import { type Overview, waiting } from '#web/pages/waiting.ts'
import type { NavigationName } from '#web/texts/texts.ts'
import { numbersIn } from '#web/view/number.ts'
import type { Ui } from '#web/view/ui.ts'

/** The start page of a shop: what waits, what is in it of what the person may see, the pages that they may open, and what their role permits. */
export const start = page({
  route: 'GET /s/{slug}',
  access: { permission: null },
  navigation: 'start',
  load: ({ call }) => call('GET /v1/tenant/overview'),
  async handle(context) {
    const { session, t, language, data } = context
    const { tenant, role, user, permissions } = session
    const links = linksFor(context, tenant.slug, permissions).filter(({ name }) => name !== 'start')
    const numbers = numbersOf(context, data)
    return view({
      title: tenant.legal_name,
      content: html`<p>${t.start.greeting(user.full_name ?? shownEmail(user.email))}</p>
${waiting(context, data)}
<dl><dt>${t.start.role}</dt><dd>${roleName(language, role)}</dd><dt>${t.start.status}</dt><dd>${t.shops.statuses[tenant.status]}</dd><dt>${t.start.timezone}</dt><dd>${tenant.timezone}</dd>${others(context, data)}</dl>
${
  links.length === 0
    ? elsewhere(context)
    : html`<ul class="cards">${links.map(
        ({ name, to }) =>
          html`<li class="card"><h2><a href="${to}">${t[name].navigation.label}</a></h2><p>${numbers[name] ?? t[name].navigation.purpose}</p></li>`,
      )}</ul>`
}
${permitted(context)}
<p><a href="${shopPath(tenant.slug, '/leave')}">${t.members.leave}</a></p>`,
    })
  },
})

/** What a page of the navigation has, in a number. */
function numbersOf({ language, t }: ShopUi, { people, vendor_accounts: vendors }: Overview) {
  const number = numbersIn(language)
  const counted = (count: number, words: (count: number, shown: string) => string) => words(count, number.format(count))
  const texts: Partial<Record<NavigationName, Content>> = {
    ...(people !== null && {
      members: counted(people.members, t.start.members),
      invitations: counted(people.invited + people.expired + people.bounced, t.start.invited),
      auditLog: t.start.failedSignIns(
        people.failed_sign_ins,
        `${number.format(people.failed_sign_ins)}${people.failed_sign_ins === MOST_FAILED_SIGN_INS ? '+' : ''}`,
      ),
    }),
    ...(vendors !== null && { vendors: counted(vendors.connected, t.start.accounts) }),
  }
  return texts
}

/** The numbers of what has no page here. */
function others({ language, t }: ShopUi, { deals, designs }: Overview): Html {
  const number = numbersIn(language)
  return html`${deals !== null && html`<dt>${t.start.deals}</dt><dd>${t.start.openDeals(number.format(deals.draft), number.format(deals.quoted))}</dd>`}${designs !== null && html`<dt>${t.start.designs}</dt><dd>${number.format(designs.unapproved)}</dd>`}`
}

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
