import { holds, type Permission } from '#shared/identity/permissions.ts'
import type { ReplyOf } from '#shared/client/client.ts'
import { shopPath } from '#web/http/addresses.ts'
import { type Html, html } from '#web/http/html.ts'
import type { ShopUi } from '#web/http/page.ts'
import { runPath } from '#web/pages/vendor-accounts/sync.ts'
import { numbersIn } from '#web/view/number.ts'
import { when } from '#web/view/time.ts'

/** What is in a shop, as the API counts it. */
export type Overview = ReplyOf<'GET /v1/tenant/overview'>

/** What the person can do something about now, each with the page where they do it. */
export function waiting(ui: ShopUi, overview: Overview): Html {
  const { start: texts } = ui.t
  const items = waitingItems(ui, overview)
  return html`<h2>${texts.waits}</h2>
${items.length === 0 ? html`<p>${texts.nothingWaits}</p>` : html`<ul>${items.map((item) => html`<li>${item}</li>`)}</ul>`}`
}

function waitingItems(ui: ShopUi, { people, vendor_accounts: vendors, designs }: Overview): Html[] {
  const { session, language, t } = ui
  const { start: texts } = t
  const { tenant, user, permissions } = session
  const may = (permission: Permission) => holds(permissions, permission)
  const number = numbersIn(language)
  const items: Html[] = []
  const some = (count: number, words: (count: number, shown: string) => string, to: string | null) => {
    const text = words(count, number.format(count))
    if (count > 0) items.push(to === null ? html`${text}` : html`<a href="${to}">${text}</a>`)
  }
  if (tenant.status === 'past_due' && may('company.write')) items.push(html`${texts.paymentDue}`)
  if (user.email_verified_at === null) items.push(html`<a href="/account">${texts.unverified}</a>`)
  const invitations = shopPath(tenant.slug, '/invitations')
  some(people?.bounced ?? 0, texts.bounced, invitations)
  some(people?.expired ?? 0, texts.expired, invitations)
  for (const run of vendors?.failed_syncs ?? [])
    items.push(
      html`<a href="${runPath(tenant.slug, run.id)}">${texts.syncFailed(run.vendor.name)}</a> ${t.sync.errors[run.error]} <span class="quiet">${when(ui, run.finished_at)}</span>`,
    )
  some(vendors?.unverified ?? 0, texts.unverifiedAccounts, shopPath(tenant.slug, '/vendor-accounts'))
  if (may('design.approve')) some(designs?.unapproved ?? 0, texts.toApprove, null)
  return items
}
