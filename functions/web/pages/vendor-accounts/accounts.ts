import * as v from 'valibot'
import { ProblemError, type Client, type ReplyOf } from '#shared/client/client.ts'
import { notFound } from '#shared/base/problem.ts'
import { shopPath } from '#web/http/addresses.ts'
import { html } from '#web/http/html.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { NoticeQuery, optional, present } from '#web/http/query.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { unlessGone } from '#web/http/unless-gone.ts'
import { actionButton, field, form } from '#web/view/form.ts'
import { badge, confirmation, empty, paging, table } from '#web/view/parts.ts'
import { when } from '#web/view/time.ts'
import { runPath, runsPath } from '#web/pages/vendor-accounts/sync.ts'

type Account = ReplyOf<'GET /v1/vendor-accounts'>['data'][number]

interface Found {
  readonly accounts: ReplyOf<'GET /v1/vendor-accounts'>
  readonly cursor: string | null
}

const findAccounts = async (call: Client['call'], cursor: string | null): Promise<Found> => ({
  accounts: await call('GET /v1/vendor-accounts', { query: present({ cursor }) }),
  cursor,
})

const baseOf = ({ session }: ShopUi) => shopPath(session.tenant.slug, '/vendor-accounts')

export const listAccounts = page({
  route: 'GET /s/{slug}/vendor-accounts',
  access: { permission: 'vendor.manage' },
  navigation: 'vendors',
  covers: '/s/{slug}/sync-runs',
  query: v.object({ ...NoticeQuery.entries, cursor: optional }),
  load: ({ call, query }) => findAccounts(call, query.cursor),
  handle: async (context) => accountsView(context, context.data),
})

/** The first page of the list. */
const firstAccounts = async (context: ShopUi & { readonly call: Client['call'] }): Promise<View> =>
  accountsView(context, await findAccounts(context.call, null))

/** Returns an account whose secret can be replaced or erased. A revoked one has none any more. */
async function findAccount(call: Client['call'], id: string): Promise<Account> {
  const account = await call('GET /v1/vendor-accounts/{id}', { params: { id } })
  if (account.status === 'revoked') throw notFound('the vendor account is revoked')
  return account
}

export const showSecret = page({
  route: 'GET /s/{slug}/vendor-accounts/{id}/secret',
  access: { permission: 'vendor.manage' },
  load: ({ call, params }) => findAccount(call, params.id),
  handle: async (context) => secretView(context, context.data),
})

export const replaceSecret = page({
  route: 'POST /s/{slug}/vendor-accounts/{id}/secret',
  access: { permission: 'vendor.manage' },
  stepUp: 'PUT /v1/vendor-accounts/{id}/secret',
  form: v.object({ secret: v.string() }),
  async handle({ params, form, call }) {
    await call('PUT /v1/vendor-accounts/{id}/secret', { params: { id: params.id }, body: { secret: form.secret } })
    return redirect(shopPath(params.slug, '/vendor-accounts'), { notice: 'vendor-secret-replaced' })
  },
  again: async (context) => secretView(context, await findAccount(context.call, context.params.id)),
})

export const verifyAccount = page({
  route: 'POST /s/{slug}/vendor-accounts/{id}/verify',
  access: { permission: 'vendor.manage' },
  formAt: '/s/{slug}/vendor-accounts',
  async handle({ params, call }) {
    const { status } = await call('POST /v1/vendor-accounts/{id}/verify', { params: { id: params.id } })
    return redirect(shopPath(params.slug, '/vendor-accounts'), {
      notice: status === 'verified' ? 'vendor-verified' : 'vendor-refused',
    })
  },
  again: firstAccounts,
})

export const confirmRevocation = page({
  route: 'GET /s/{slug}/vendor-accounts/{id}/revoke',
  access: { permission: 'vendor.manage' },
  load: ({ call, params }) => findAccount(call, params.id),
  async handle(context) {
    const { data: account, t } = context
    const base = baseOf(context)
    return view({
      title: t.vendors.revokeTitle(titleOf(account)),
      content: confirmation(context, {
        text: html`<p>${t.vendors.revokeText}</p>`,
        to: `${base}/${account.id}/revoke`,
        label: t.vendors.revokeConfirm,
        back: base,
      }),
    })
  },
})

export const revokeAccount = page({
  route: 'POST /s/{slug}/vendor-accounts/{id}/revoke',
  access: { permission: 'vendor.manage' },
  stepUp: 'DELETE /v1/vendor-accounts/{id}',
  async handle({ params, call }) {
    await unlessGone(call('DELETE /v1/vendor-accounts/{id}', { params: { id: params.id } }))
    return redirect(shopPath(params.slug, '/vendor-accounts'), { notice: 'vendor-revoked' })
  },
})

export const startSync = page({
  route: 'POST /s/{slug}/vendor-accounts/{id}/sync',
  access: { permission: 'vendor.manage' },
  formAt: '/s/{slug}/vendor-accounts',
  form: v.object({ withdraw_most: v.optional(v.literal('yes')) }),
  async handle({ params, form, call }) {
    try {
      const body = { vendor_account_id: params.id, withdraw_most: form.withdraw_most === 'yes' }
      const run = await call('POST /v1/catalog/sync-runs', { body })
      return redirect(runPath(params.slug, run.id))
    } catch (error) {
      if (!(error instanceof ProblemError) || error.kind !== 'sync-active') throw error
      return redirect(runPath(params.slug, String(error.problem['sync_run_id'])), { notice: 'sync-active' })
    }
  },
  again: firstAccounts,
})

/** What an account is called: its label, or its vendor and number. */
const titleOf = ({ label, vendor, account_number }: Account): string => label ?? `${vendor.name} ${account_number}`

function accountsView(ui: ShopUi, { accounts, cursor }: Found): View {
  const { session } = ui
  const { vendors: texts, members } = ui.t
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

function secretView(ui: ShopUi, account: Account): View {
  const { vendors: texts } = ui.t
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
