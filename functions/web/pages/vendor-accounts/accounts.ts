import * as v from 'valibot'
import { ProblemError, type Client, type ReplyOf } from '#shared/client/client.ts'
import { notFound } from '#shared/base/problem.ts'
import { shopPath } from '#web/http/addresses.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { NoticeQuery, optional, present } from '#web/http/query.ts'
import { redirect, type View } from '#web/http/reply.ts'
import { unlessGone } from '#web/http/unless-gone.ts'
import { runPath } from '#web/pages/vendor-accounts/sync.ts'

/** Few open these pages, so a start of the function reads neither their markup nor their texts. */
const views = () => import('#web/pages/vendor-accounts/account-views.ts')

export type Account = ReplyOf<'GET /v1/vendor-accounts'>['data'][number]

export interface Found {
  readonly accounts: ReplyOf<'GET /v1/vendor-accounts'>
  readonly cursor: string | null
}

const findAccounts = async (call: Client['call'], cursor: string | null): Promise<Found> => ({
  accounts: await call('GET /v1/vendor-accounts', { query: present({ cursor }) }),
  cursor,
})

export const listAccounts = page({
  route: 'GET /s/{slug}/vendor-accounts',
  access: { permission: 'vendor.manage' },
  navigation: 'vendors',
  covers: '/s/{slug}/sync-runs',
  query: v.object({ ...NoticeQuery.entries, cursor: optional }),
  load: ({ call, query }) => findAccounts(call, query.cursor),
  handle: async (context) => (await views()).accountsView(context, context.data),
})

/** The first page of the list. */
const firstAccounts = async (context: ShopUi & { readonly call: Client['call'] }): Promise<View> =>
  (await views()).accountsView(context, await findAccounts(context.call, null))

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
  handle: async (context) => (await views()).secretView(context, context.data),
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
  again: async (context) => (await views()).secretView(context, await findAccount(context.call, context.params.id)),
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
  handle: async (context) => (await views()).revocationView(context, context.data),
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
