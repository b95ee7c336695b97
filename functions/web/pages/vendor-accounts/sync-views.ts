import type { ReplyOf } from '#shared/client/client.ts'
import { shopPath } from '#web/http/addresses.ts'
import { type Content, type Html, html } from '#web/http/html.ts'
import type { ShopUi } from '#web/http/page.ts'
import { type View, view } from '#web/http/reply.ts'
import { runPath, runsPath } from '#web/pages/vendor-accounts/sync.ts'
import { syncRun } from '#web/texts/sync-run.ts'
import { vendorPages } from '#web/texts/vendor-pages.ts'
import { actionButton } from '#web/view/form.ts'
import { numbersIn } from '#web/view/number.ts'
import { badge, empty, paging, table } from '#web/view/parts.ts'
import { when } from '#web/view/time.ts'

type Runs = ReplyOf<'GET /v1/catalog/sync-runs'>
type Run = Runs['data'][number]
type Detail = ReplyOf<'GET /v1/catalog/sync-runs/{id}'>

const TONES = { queued: 'plain', running: 'plain', succeeded: 'good', failed: 'bad' } as const

/** The runs of the shop, the newest first. */
export function runsView(context: ShopUi & { readonly path: string }, runs: Runs, cursor: string | null): View {
  const texts = syncRun[context.language]
  const { slug } = context.session.tenant
  const number = numbersIn(context.language)
  const list = table<Run>(
    {
      caption: context.t.sync.runs,
      columns: [
        {
          head: texts.run,
          cell: (run) =>
            html`<a href="${runPath(slug, run.id)}">${run.vendor.name}</a> <span class="quiet">${accountOf(run)}</span>`,
        },
        { head: texts.state, cell: ({ status }) => badge(texts.states[status], TONES[status]) },
        { head: texts.begun, cell: ({ created_at }) => when(context, created_at) },
        { head: texts.products, cell: ({ styles }) => number.format(styles) },
        { head: texts.added, cell: ({ added }) => number.format(added) },
        { head: texts.withdrawn, cell: ({ withdrawn }) => number.format(withdrawn) },
      ],
    },
    runs.data,
  )
  return view({
    title: context.t.sync.runs,
    content: html`${runs.data.length === 0 ? empty(texts.noneTitle, html`<p>${texts.none}</p>`) : list}
${paging(context, { query: {}, cursor, next: runs.next_cursor })}
<p><a href="${shopPath(slug, '/vendor-accounts')}">${texts.back}</a></p>`,
  })
}

/** A sync run. No page loads again by itself (WCAG 2.2.1): while it runs, the page says when it looked, and has a link. */
export function runView(context: ShopUi & { readonly path: string }, run: Detail): View {
  const texts = syncRun[context.language]
  const active = run.status === 'queued' || run.status === 'running'
  const number = numbersIn(context.language)
  const rows = (facts: readonly (readonly [label: string, value: Content])[]) =>
    html`<dl>${facts.map(([label, value]) => html`<dt>${label}</dt><dd>${value}</dd>`)}</dl>`
  const counts = (names: readonly ('variants' | 'prices' | 'added' | 'dearer' | 'cheaper' | 'withdrawn')[]) =>
    names.map((name) => [texts[name], number.format(run[name])] as const)
  return view({
    title: texts.title(run.vendor.name),
    content: html`<p role="status">${badge(texts.states[run.status], TONES[run.status])} ${active && html`${texts.looked} ${when(context, new Date().toISOString())} <a href="${context.path}">${texts.loadAgain}</a>`}</p>
${run.error !== null && html`<p class="error">${context.t.sync.errors[run.error]}</p>`}
${progress(context, run)}
${rows([
  [texts.account, accountOf(run)],
  [texts.begun, when(context, run.created_at)],
  ...(run.finished_at === null ? [] : [[texts.finished, when(context, run.finished_at)] as const]),
])}
${
  run.status !== 'queued' &&
  html`<h2>${texts.readTitle}</h2>
${rows([[texts.products, number.format(run.styles)], ...counts(['variants', 'prices'])])}
<h2>${texts.changedTitle}</h2>
${rows(counts(['added', 'dearer', 'cheaper', 'withdrawn']))}`
}
${run.withheld > 0 && withheld(context, run, number.format(run.withheld))}
${run.unresolved_sizes > 0 && unknownSizes(context, run, number)}
${!active && next(context, run)}`,
  })
}

/** How far the run is, as a bar and in numbers. */
function progress(ui: ShopUi, { status, products_read: done, products_total: total }: Run): Html | null {
  if (status === 'queued' || total === null)
    return status === 'running' ? html`<p>${syncRun[ui.language].listing}</p>` : null
  const number = numbersIn(ui.language)
  const label = syncRun[ui.language].progress(number.format(done), number.format(total))
  return html`<p class="progress"><label for="progress">${label}</label> <progress id="progress" max="${Math.max(1, total)}" value="${total === 0 ? 1 : done}">${label}</progress></p>`
}

/** The sizes of the vendor that the catalog does not know, by name. */
function unknownSizes(ui: ShopUi, run: Detail, number: Intl.NumberFormat): Html {
  const texts = syncRun[ui.language]
  const others = run.unresolved_sizes - run.unknown_sizes.length
  return html`<h2>${texts.unresolved}</h2><p>${texts.unresolvedText}</p>
<ul>${run.unknown_sizes.map((size) => html`<li><code>${size}</code></li>`)}${others > 0 && html`<li>${texts.others(number.format(others))}</li>`}</ul>`
}

/** Where to go from a run that has ended. */
function next(ui: ShopUi, run: Run): Html {
  const texts = syncRun[ui.language]
  const accounts = shopPath(ui.session.tenant.slug, '/vendor-accounts')
  return html`<h2>${texts.nextTitle}</h2>
${run.status === 'succeeded' && ui.platform.links.length > 0 && html`<p>${texts.inCatalog}</p><ul>${ui.platform.links.map(({ name, url }) => html`<li><a href="${url}">${name}</a></li>`)}</ul>`}
<div class="actions">${run.error === 'vendor-rejected' && run.vendor_account.status !== 'revoked' && html`<a class="button" href="${accounts}/${run.vendor_account_id}/secret">${vendorPages[ui.language].replaceConfirm}</a>`} ${run.vendor_account.status !== 'revoked' && actionButton(ui, { to: `${accounts}/${run.vendor_account_id}/sync`, label: texts.again })} <a href="${runsPath(ui.session.tenant.slug)}">${ui.t.sync.runs}</a> <a href="${accounts}">${texts.back}</a></div>`
}

/** What the account of a run is called, beside its vendor. */
const accountOf = ({ vendor_account: { label, account_number: number } }: Run): string =>
  label === null ? number : `${label} (${number})`

/** What the run found gone and kept, and the way to withdraw it. */
const withheld = (ui: ShopUi, run: Run, count: string): Html => {
  const texts = syncRun[ui.language]
  const to = shopPath(ui.session.tenant.slug, `/vendor-accounts/${run.vendor_account_id}/sync`)
  return html`<div class="card"><h2>${texts.withheldTitle}</h2><p>${texts.withheld(count)}</p>
${actionButton(ui, { to, label: texts.withdrawMost, hidden: { withdraw_most: 'yes' } })}</div>`
}
