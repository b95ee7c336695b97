import * as v from 'valibot'
import { shopPath } from '#web/http/addresses.ts'
import { page } from '#web/http/page.ts'
import { optional } from '#web/http/query.ts'
import { redirect } from '#web/http/reply.ts'

const views = () => import('#web/pages/vendor-accounts/account-views.ts')

export const newAccount = page({
  route: 'GET /s/{slug}/vendor-accounts/new',
  access: { permission: 'vendor.manage' },
  load: ({ call }) => call('GET /v1/vendors'),
  handle: async (context) => (await views()).connectView(context, context.data.data),
})

export const connectAccount = page({
  route: 'POST /s/{slug}/vendor-accounts',
  access: { permission: 'vendor.manage' },
  stepUp: 'POST /v1/vendor-accounts',
  formAt: '/s/{slug}/vendor-accounts/new',
  creates: true,
  form: v.object({ vendor: v.string(), label: optional, account_number: v.string(), secret: v.string() }),
  async handle({ params, form, call, idempotencyKey }) {
    const { vendor, label, account_number, secret } = form
    const body = { vendor, label: label?.trim() ? label : null, account_number: account_number.trim(), secret }
    const { status } = await call('POST /v1/vendor-accounts', { body, idempotencyKey })
    return redirect(shopPath(params.slug, '/vendor-accounts'), {
      notice: status === 'verified' ? 'vendor-connected' : 'vendor-unverified',
    })
  },
  again: async (context) => (await views()).connectView(context, (await context.call('GET /v1/vendors')).data),
})
