import { LOCALES } from '#shared/schema/language.ts'
import { shopPath } from '#web/http/addresses.ts'
import { html } from '#web/http/html.ts'
import type { ShopUi } from '#web/http/page.ts'
import { type View, view } from '#web/http/reply.ts'
import type { Shop } from '#web/pages/settings.ts'
import { type Option, type OptionGroup, select } from '#web/view/choices.ts'
import { field, form } from '#web/view/form.ts'
import { kept } from '#web/view/kept.ts'
import { zones } from '#web/view/zones.ts'

const currencies = kept((language) => {
  const names = new Intl.DisplayNames(language, { type: 'currency' })
  return Intl.supportedValuesOf('currency').map((value) => ({ value, label: `${value} · ${names.of(value) ?? value}` }))
})

/** A value that the list does not have, such as an older name of a time zone, stays a choice. */
const withPresent = (options: readonly Option[], present: string) =>
  options.some(({ value }) => value === present) ? options : [{ value: present, label: present }, ...options]

/** A value that no group has stays a choice. */
const alone = (groups: readonly OptionGroup[], present: string): Option[] =>
  groups.some(({ options }) => options.some(({ value }) => value === present))
    ? []
    : [{ value: present, label: present }]

export function settingsView(ui: ShopUi, { body: shop, etag }: Shop): View {
  const { settings: texts } = ui.t
  const { home, others } = zones(LOCALES[ui.language])
  const groups = [
    { label: texts.homeZones, options: home },
    { label: texts.otherZones, options: others },
  ]
  /** What somebody else saved while the person typed another value. */
  const hintOf = (name: 'legal_name' | 'timezone' | 'currency', hint?: string) => {
    const isOther = ui.refusal?.kind === 'precondition-failed' && ui.refusal.values[name] !== shop[name]
    const hints = [...(isOther ? [texts.savedMeanwhile(shop[name])] : []), ...(hint === undefined ? [] : [hint])]
    return hints.length === 0 ? {} : { hint: hints.join(' ') }
  }
  return view({
    title: texts.title,
    content: html`${form(ui, {
      to: shopPath(ui.session.tenant.slug, '/settings'),
      hidden: { etag },
      fields: [
        field(ui, {
          name: 'legal_name',
          label: texts.name,
          ...hintOf('legal_name'),
          value: shop.legal_name,
          autocomplete: 'off',
        }),
        select(ui, {
          name: 'timezone',
          label: texts.timezone,
          ...hintOf('timezone', texts.timezoneHint),
          value: shop.timezone,
          options: alone(groups, shop.timezone),
          groups,
        }),
        select(ui, {
          name: 'currency',
          label: texts.currency,
          ...hintOf('currency', texts.currencyHint),
          value: shop.currency,
          options: withPresent(currencies(ui.language), shop.currency),
        }),
      ],
      submit: texts.save,
    })}
<p><a href="${shopPath(ui.session.tenant.slug, '/settings/second-factor')}">${texts.secondFactor}</a></p>`,
  })
}
