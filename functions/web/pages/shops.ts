import { shownEmail } from '#shared/schema/shown-email.ts'
import { shopName } from '#shared/identity/shop-name.ts'
import * as v from 'valibot'
import type { ReplyOf } from '#shared/client/client.ts'
import { shopPath } from '#web/http/addresses.ts'
import { html } from '#web/http/html.ts'
import { page } from '#web/http/page.ts'
import { isNotice } from '#web/http/notices.ts'
import { NoticeQuery, optional } from '#web/http/query.ts'
import { redirect, view } from '#web/http/reply.ts'
import { actionButton } from '#web/view/form.ts'
import { badge, empty } from '#web/view/parts.ts'
import type { Ui } from '#web/view/ui.ts'

type Option = ReplyOf<'GET /v1/auth/tenants'>['data'][number]

const TONES = { trial: 'plain', active: 'good', past_due: 'warn', suspended: 'bad', cancelled: 'bad' } as const

/** The shops of the person. The only one is selected immediately. */
export const listShops = page({
  route: 'GET /shops',
  access: 'session',
  query: v.object({ ...NoticeQuery.entries, next: optional }),
  load: ({ call }) => call('GET /v1/auth/tenants'),
  async handle(context) {
    const { data, session, call, t, query } = context
    const notice = isNotice(query.notice) ? query.notice : null
    const [only, second] = data.data
    if (only === undefined)
      return view({
        title: t.shops.title,
        content: empty(
          t.shops.noneTitle,
          html`<p>${t.shops.none} <strong>${shownEmail(session.user.email)}</strong></p>`,
        ),
      })
    if (second === undefined) {
      if (session.tenant === null) await call('POST /v1/auth/tenants/{id}/select', { params: { id: only.tenant.id } })
      return redirect(nextIn(context, only.tenant.slug, query.next), { notice })
    }
    const wanted = data.data.find(({ tenant }) => belongsTo(query.next, tenant.slug))
    const others = data.data.filter((option) => option !== wanted)
    const list = (options: readonly Option[]) =>
      html`<ul class="cards">${options.map((option) => card(context, option, session.tenant?.id, query.next))}</ul>`
    return view({
      title: t.shops.title,
      ...(wanted === undefined ? {} : { about: { shop: shopName(wanted.tenant), role: wanted.role.label } }),
      content:
        wanted === undefined
          ? html`<p class="prose">${t.shops.intro}</p>${list(others)}`
          : html`<p class="prose">${notice === 'joined' ? t.shops.intro : t.shops.wanted(shopName(wanted.tenant))}</p>
${list([wanted])}
<h2>${t.shops.others}</h2>
${list(others)}`,
    })
  },
})

const card = (ui: Ui, { tenant, role }: Option, current: string | undefined, next: string | null) => {
  const { shops } = ui.t
  return html`<li class="card"><h2>${shopName(tenant)}</h2>
<p>${shops.role}: ${role.label} · ${shops.status}: ${badge(shops.statuses[tenant.status], TONES[tenant.status])}</p>
${
  tenant.id === current
    ? html`<p><a href="${nextIn(ui, tenant.slug, next)}">${shops.current}</a></p>`
    : actionButton(ui, {
        to: '/shops',
        hidden: { tenant: tenant.id, next: next ?? '' },
        label: shops.open,
        about: shopName(tenant),
      })
}</li>`
}

/** Selects a shop, and leads to its start page or to the page that the person wanted. */
export const chooseShop = page({
  route: 'POST /shops',
  access: 'session',
  form: v.object({ tenant: v.pipe(v.string(), v.uuid()), next: optional }),
  async handle(context) {
    const { form, call, session } = context
    const { tenant } = await call('POST /v1/auth/tenants/{id}/select', { params: { id: form.tenant } })
    const to = tenant === null ? '/' : nextIn(context, tenant.slug, form.next)
    return redirect(to, { notice: session.tenant === null ? null : 'shop-switched' })
  },
})

/** The page that the person wanted, if it belongs to this shop or to none; else the start page of the shop. */
function nextIn({ ownAddress }: Ui, slug: string, next: string | null): string {
  const wanted = ownAddress(next ?? '')
  const fits = wanted !== null && wanted !== '/' && (belongsTo(wanted, slug) || !wanted.startsWith('/s/'))
  return fits && !/^\/(shops|sign-in)\b/.test(wanted) ? wanted : shopPath(slug)
}

/** Whether an address is that of a page of the shop. */
const belongsTo = (address: string | null, slug: string): boolean =>
  `${address?.split('?', 1)[0] ?? ''}/`.toLowerCase().startsWith(`${shopPath(slug)}/`.toLowerCase())
