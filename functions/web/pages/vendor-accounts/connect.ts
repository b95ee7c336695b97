import * as v from 'valibot'
import type { ReplyOf } from '#shared/client/client.ts'
import { shopPath } from '#web/http/addresses.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { optional } from '#web/http/query.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { select } from '#web/view/choices.ts'
import { field, form } from '#web/view/form.ts'

export const newAccount = page({
  route: 'GET /s/{slug}/vendor-accounts/new',
  access: { permission: 'vendor.manage' },
  load: ({ call }) => call('GET /v1/vendors'),
  handle: async (context) => connectView(context, context.data.data),
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
  again: async (context) => connectView(context, (await context.call('GET /v1/vendors')).data),
})

function connectView(ui: ShopUi, vendors: ReplyOf<'GET /v1/vendors'>['data']): View {
  const { vendors: texts } = ui.t
  const base = shopPath(ui.session.tenant.slug, '/vendor-accounts')
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
