import { roleName } from '#shared/identity/role-names.ts'
import { shopName } from '#shared/identity/shop-name.ts'
import type { ReplyOf } from '#shared/client/client.ts'
import { shopPath } from '#web/http/addresses.ts'
import { type Html, html } from '#web/http/html.ts'
import { pressable } from '#web/view/form.ts'
import { filters } from '#web/view/filters.ts'
import { badge, empty } from '#web/view/parts.ts'
import { inOrder, isFound } from '#web/view/search.ts'
import type { Ui } from '#web/view/ui.ts'

type Option = ReplyOf<'GET /v1/auth/tenants'>['data'][number]

const TONES = { trial: 'plain', active: 'good', past_due: 'warn', suspended: 'bad', cancelled: 'bad' } as const

/** From this many shops on, there is a search, and the last used ones stand first. */
const MANY = 8
const LAST_USED = 3

export const isSuspended = ({ tenant }: Option): boolean => tenant.status === 'suspended'

interface Choice {
  readonly options: readonly Option[]
  /** The shop of the page that the person wanted to open. */
  readonly wanted: Option | null
  /** The person joined that shop a moment ago. */
  readonly joined: boolean
}

interface Query {
  readonly next: string | null
  readonly q: string | null
}

/** The shops of a person, of which at least one is open: the wanted one first, then the last used ones, then all by name. */
export function choice(ui: Ui, { options, wanted, joined }: Choice, { next, q }: Query): Html {
  const { shops: texts } = ui.t
  const isMany = options.length >= MANY
  const sorted = options.toSorted((a, b) => inOrder(ui.language).compare(shopName(a.tenant), shopName(b.tenant)))
  const found = q === null ? sorted : sorted.filter(({ tenant }) => isFound(shopName(tenant), q))
  const open = found.filter((option) => !isSuspended(option) && option !== wanted)
  const closed = found.filter((option) => isSuspended(option) && option !== wanted)
  const used = isMany && q === null && wanted === null ? lastUsed(open) : []
  const list = (listed: readonly Option[]) =>
    html`<ul class="choices">${listed.map((option) => html`<li>${openShop(ui, option, next)}</li>`)}</ul>`
  const intro = options.length === 1 ? texts.introOfOne : texts.intro
  return html`<p class="prose">${wanted === null || joined ? intro : texts.wanted(shopName(wanted.tenant))}</p>
${wanted !== null && (isSuspended(wanted) ? suspended(ui, [wanted]) : list([wanted]))}
${isMany && filters(ui, texts.search, [{ name: 'q', label: texts.search, type: 'search', value: q }], next === null ? {} : { next })}
${used.length > 0 && html`<h2>${texts.lastUsed}</h2>${list(used)}`}
${(wanted !== null || used.length > 0) && open.length > 0 && html`<h2>${wanted === null ? texts.all : texts.others}</h2>`}
${found.length === 0 ? empty(texts.notFoundTitle, html`<p><a href="/shops">${texts.showAll}</a></p>`) : list(open)}
${closed.length > 0 && html`<h2>${texts.closed}</h2>${suspended(ui, closed)}`}`
}

/** The shops that the person selected last, the latest first. */
const lastUsed = (options: readonly Option[]): Option[] =>
  options
    .filter(({ selected_at: at }) => at !== null)
    .toSorted((a, b) => (b.selected_at ?? '').localeCompare(a.selected_at ?? ''))
    .slice(0, LAST_USED)

/** What happened to shops that are suspended, and whom to ask. */
export const suspended = (ui: Ui, options: readonly Option[]): Html =>
  html`${options.map(
    ({ tenant, role }) =>
      html`<div class="card"><h2>${ui.t.shops.suspendedTitle(shopName(tenant))}</h2>
<p>${ui.t.shops.suspended} ${role.code === 'owner' ? askPlatform(ui) : ui.t.shops.askOwner}</p></div>`,
  )}`

function askPlatform({ t, platform }: Ui): Html {
  const text = t.shops.askPlatform(platform.name)
  return platform.supportUrl === '' ? html`${text}` : html`<a href="${platform.supportUrl}">${text}</a>`
}

/** One shop: the whole of it opens the shop. */
function openShop(ui: Ui, { tenant, role }: Option, next: string | null): Html {
  const { shops } = ui.t
  const isHere = tenant.id === ui.session?.tenant?.id
  const label = html`<strong>${shopName(tenant)}</strong> <span class="quiet">${roleName(ui.language, role)}</span> ${
    isHere
      ? badge(shops.current)
      : tenant.status !== 'active' && badge(shops.statuses[tenant.status], TONES[tenant.status])
  }`
  if (isHere) return html`<a class="choice" href="${nextIn(ui, tenant.slug, next)}">${label}</a>`
  return pressable(ui, { to: '/shops', hidden: { tenant: tenant.id, next: next ?? '' }, label })
}

/** The page that the person wanted, if it belongs to this shop or to none; else the start page of the shop. */
export function nextIn({ ownAddress }: Ui, slug: string, next: string | null): string {
  const wanted = ownAddress(next ?? '')
  const fits = wanted !== null && wanted !== '/' && (belongsTo(wanted, slug) || !wanted.startsWith('/s/'))
  return fits && !/^\/(shops|sign-in)\b/.test(wanted) ? wanted : shopPath(slug)
}

/** Whether an address is that of a page of the shop. */
export const belongsTo = (address: string | null, slug: string): boolean =>
  `${address?.split('?', 1)[0] ?? ''}/`.toLowerCase().startsWith(`${shopPath(slug)}/`.toLowerCase())
