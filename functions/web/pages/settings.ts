import * as v from 'valibot'
import type { ReplyOf } from '#shared/client/client.ts'
import { shopPath } from '#web/addresses.ts'
import { page, type ShopUi } from '#web/page.ts'
import { NoticeQuery } from '#web/query.ts'
import { redirect, type View, view } from '#web/reply.ts'
import { field, form, select } from '#web/view/form.ts'

interface Shop {
  readonly body: ReplyOf<'GET /v1/tenant'>
  readonly etag: string
}

export const showSettings = page({
  route: 'GET /s/{slug}/settings',
  access: { permission: 'company.write' },
  query: NoticeQuery,
  load: ({ callWithEtag }) => callWithEtag('GET /v1/tenant'),
  handle: async (context) => settingsView(context, context.data),
})

/** The ETag of the form says which settings the person saw: a change of somebody else in between is not overwritten. */
export const changeSettings = page({
  route: 'POST /s/{slug}/settings',
  access: { permission: 'company.write' },
  form: v.object({ legal_name: v.string(), timezone: v.string(), currency: v.string(), etag: v.string() }),
  fieldOf: { 'currency-in-use': 'currency' },
  async handle({ params, form, call }) {
    const { etag, legal_name, timezone, currency } = form
    await call('PATCH /v1/tenant', { body: { legal_name, timezone, currency }, ifMatch: etag })
    return redirect(shopPath(params.slug, '/settings'), { notice: 'settings-saved' })
  },
  again: async (context) => settingsView(context, await context.callWithEtag('GET /v1/tenant')),
})

const options = (values: readonly string[], present: string) =>
  [...new Set([present, ...values])].toSorted().map((value) => ({ value, label: value }))

function settingsView(ui: ShopUi, { body: shop, etag }: Shop): View {
  const { settings: texts } = ui.t
  const currencies = new Intl.DisplayNames(ui.language, { type: 'currency' })
  return view({
    title: texts.title,
    content: form(ui, {
      to: shopPath(ui.session.tenant.slug, '/settings'),
      hidden: { etag },
      fields: [
        field(ui, { name: 'legal_name', label: texts.name, value: shop.legal_name, autocomplete: 'off' }),
        select(ui, {
          name: 'timezone',
          label: texts.timezone,
          hint: texts.timezoneHint,
          value: shop.timezone,
          options: options(Intl.supportedValuesOf('timeZone'), shop.timezone),
        }),
        select(ui, {
          name: 'currency',
          label: texts.currency,
          hint: texts.currencyHint,
          value: shop.currency,
          options: options(Intl.supportedValuesOf('currency'), shop.currency).map(({ value }) => ({
            value,
            label: `${value} · ${currencies.of(value) ?? value}`,
          })),
        }),
      ],
      submit: texts.save,
    }),
  })
}
