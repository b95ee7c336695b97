import * as v from 'valibot'
import type { ReplyOf } from '#shared/client/client.ts'
import { shopPath } from '#web/http/addresses.ts'
import { type Html, html } from '#web/http/html.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { NoticeQuery, optional, present } from '#web/http/query.ts'
import { view } from '#web/http/reply.ts'
import { actionButton } from '#web/view/form.ts'
import { kept } from '#web/view/kept.ts'
import { badge, empty, paging, table } from '#web/view/parts.ts'
import { when } from '#web/view/time.ts'

type Run = ReplyOf<'GET /v1/catalog/sync-runs'>['data'][number]

/** The address of the list of runs. */
export const runsPath = (slug: string): string => shopPath(slug, '/sync-runs')

/** The address of a run's page. */
export const runPath = (slug: string, id: string): string => `${runsPath(slug)}/${encodeURIComponent(id)}`

const TONES = { queued: 'plain', running: 'plain', succeeded: 'good', failed: 'bad' } as const

export const listRuns = page({
  route: 'GET /s/{slug}/sync-runs',
  access: { permission: 'vendor.manage' },
  query: v.object({ ...NoticeQuery.entries, cursor: optional }),
  load: ({ call, query }) => call('GET /v1/catalog/sync-runs', { query: present({ cursor: query.cursor }) }),
  async handle(context) {
    const { data: runs, query, session, t } = context
    const { sync: texts } = t
    const { slug } = session.tenant
    const list = table<Run>(
      {
        caption: texts.runs,
        columns: [
          { head: texts.run, cell: ({ id, vendor }) => html`<a href="${runPath(slug, id)}">${vendor.name}</a>` },
          { head: texts.state, cell: ({ status }) => badge(texts.states[status], TONES[status]) },
          { head: texts.begun, cell: ({ created_at }) => when(context, created_at) },
          { head: texts.products, cell: ({ styles }) => styles },
        ],
      },
      runs.data,
    )
    return view({
      title: texts.runs,
      content: html`${runs.data.length === 0 ? empty(texts.noneTitle, html`<p>${texts.none}</p>`) : list}
${paging(context, { query: {}, cursor: query.cursor, next: runs.next_cursor })}
<p><a href="${shopPath(slug, '/vendor-accounts')}">${texts.back}</a></p>`,
    })
  },
})

const numberOf = kept((language) => new Intl.NumberFormat(language))

/** A sync run. No page loads again by itself (WCAG 2.2.1): while it runs, the page says when it looked, and has a link. */
export const showRun = page({
  route: 'GET /s/{slug}/sync-runs/{id}',
  access: { permission: 'vendor.manage' },
  query: NoticeQuery,
  load: ({ call, params }) => call('GET /v1/catalog/sync-runs/{id}', { params: { id: params.id } }),
  async handle(context) {
    const { data: run, t } = context
    const { sync: texts } = t
    const active = run.status === 'queued' || run.status === 'running'
    const number = numberOf(context.language)
    return view({
      title: texts.title(run.vendor.name),
      content: html`<p role="status">${badge(texts.states[run.status], TONES[run.status])} ${active && html`${texts.looked} ${when(context, new Date().toISOString())} <a href="${context.path}">${texts.loadAgain}</a>`}</p>
${run.error !== null && html`<p class="error">${texts.errors[run.error]}</p>`}
<dl><dt>${texts.products}</dt><dd>${number.format(run.styles)}</dd><dt>${texts.variants}</dt><dd>${number.format(run.variants)}</dd><dt>${texts.prices}</dt><dd>${number.format(run.prices)}</dd><dt>${texts.unresolved}</dt><dd>${number.format(run.unresolved_sizes)}</dd><dt>${texts.withdrawn}</dt><dd>${number.format(run.withdrawn)}</dd><dt>${texts.begun}</dt><dd>${when(context, run.created_at)}</dd>${run.finished_at !== null && html`<dt>${texts.finished}</dt><dd>${when(context, run.finished_at)}</dd>`}</dl>
${run.withheld > 0 && withheld(context, run, number.format(run.withheld))}
<p><a href="${shopPath(context.session.tenant.slug, '/vendor-accounts')}">${texts.back}</a></p>`,
    })
  },
})

/** What the run found gone and kept, and the way to withdraw it. */
const withheld = (ui: ShopUi, run: Run, count: string): Html => {
  const { sync: texts } = ui.t
  const to = shopPath(ui.session.tenant.slug, `/vendor-accounts/${run.vendor_account_id}/sync`)
  return html`<div class="card"><h2>${texts.withheldTitle}</h2><p>${texts.withheld(count)}</p>
${actionButton(ui, { to, label: texts.withdrawMost, hidden: { withdraw_most: 'yes' } })}</div>`
}
