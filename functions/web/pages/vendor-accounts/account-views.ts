import type { ReplyOf } from '#shared/client/client.ts'
import { shopPath } from '#web/http/addresses.ts'
import { html } from '#web/http/html.ts'
import type { ShopUi } from '#web/http/page.ts'
import { type View, view } from '#web/http/reply.ts'
import type { Account, Found } from '#web/pages/vendor-accounts/accounts.ts'
import { runsPath } from '#web/pages/vendor-accounts/sync.ts'
import { vendorPages } from '#web/texts/vendor-pages.ts'
import { select } from '#web/view/choices.ts'
import { actionButton, field, form } from '#web/view/form.ts'
import { badge, confirmation, empty, paging, table } from '#web/view/parts.ts'
import { when } from '#web/view/time.ts'

const baseOf = ({ session }: ShopUi) => shopPath(session.tenant.slug, '/vendor-accounts')

/** What an account is called: its label, or its vendor and number. */
const titleOf = ({ label, vendor, account_number }: Account): string => label ?? `${vendor.name} ${account_number}`

export function accountsView(ui: ShopUi, { accounts, cursor }: Found): View {
  const { session } = ui
  const texts = vendorPages[ui.language]
  const { members } = ui.t
  const base = baseOf(ui)
  const list = table<Account>(
    {
      caption: texts.caption,
      columns: [
        {
          head: texts.account,
          cell: (account) =>
            html`${titleOf(account)}${account.label !== null && html` <span class="quiet">${account.vendor.name} · ${account.account_number}</span>`}`,
        },
        {
          head: members.status,
          cell: ({ status }) => badge(texts.states[status], status === 'verified' ? 'good' : 'warn'),
        },
        {
          head: texts.verified,
          cell: ({ verified_at }) => (verified_at === null ? texts.never : when(ui, verified_at)),
        },
        {
          head: members.actions,
          cell: (account) => {
            const [about, to] = [titleOf(account), `${base}/${account.id}`]
            return html`<div class="actions">${actionButton(ui, { to: `${to}/sync`, label: texts.sync, about })} ${actionButton(ui, { to: `${to}/verify`, label: texts.verify, about })} <a href="${to}/secret">${texts.replace}<span class="unseen"> ${about}</span></a> <a href="${to}/revoke">${texts.revoke}<span class="unseen"> ${about}</span></a></div>`
          },
        },
      ],
    },
    accounts.data,
  )
  return view({
    title: texts.title,
    content: html`<p class="actions"><a class="button" href="${base}/new">${texts.newTitle}</a> <a href="${runsPath(session.tenant.slug)}">${ui.t.sync.runs}</a></p>
${accounts.data.length === 0 ? empty(texts.noneTitle, html`<p>${texts.none}</p>`) : list}
${paging({ ...ui, path: base }, { query: {}, cursor, next: accounts.next_cursor })}`,
  })
}

export function secretView(ui: ShopUi, account: Account): View {
  const texts = vendorPages[ui.language]
  const base = baseOf(ui)
  return view({
    title: texts.secretTitle(titleOf(account)),
    content: html`<p class="prose">${texts.secretText}</p>
${form(ui, {
  to: `${base}/${account.id}/secret`,
  fields: field(ui, {
    name: 'secret',
    label: texts.secret,
    hint: texts.secretHint,
    type: 'masked',
    autocomplete: 'off',
  }),
  submit: texts.replaceConfirm,
  back: base,
})}`,
  })
}

export function revocationView(ui: ShopUi, account: Account): View {
  const texts = vendorPages[ui.language]
  const base = baseOf(ui)
  return view({
    title: texts.revokeTitle(titleOf(account)),
    content: confirmation(ui, {
      text: html`<p>${texts.revokeText}</p>`,
      to: `${base}/${account.id}/revoke`,
      label: texts.revokeConfirm,
      back: base,
    }),
  })
}

export function connectView(ui: ShopUi, vendors: ReplyOf<'GET /v1/vendors'>['data']): View {
  const texts = vendorPages[ui.language]
  const base = baseOf(ui)
  return view({
    title: texts.newTitle,
    content: form(ui, {
      to: base,
      fields: [
        select(ui, {
          name: 'vendor',
          label: texts.vendor,
          options: vendors.map(({ code, name }) => ({ value: code, label: name })),
        }),
        field(ui, { name: 'label', label: texts.label, hint: texts.labelHint, autocomplete: 'off', optional: true }),
        field(ui, { name: 'account_number', label: texts.number, autocomplete: 'off' }),
        field(ui, {
          name: 'secret',
          label: texts.secret,
          hint: texts.secretHint,
          type: 'masked',
          autocomplete: 'off',
        }),
      ],
      submit: texts.connect,
      back: base,
    }),
  })
}
