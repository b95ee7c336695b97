import type { ReplyOf } from '#shared/client/client.ts'
import { SECOND_FACTOR_POLICIES } from '#shared/identity/second-factor-policy.ts'
import type { Language } from '#shared/schema/language.ts'
import { shopPath } from '#web/http/addresses.ts'
import { html } from '#web/http/html.ts'
import type { ShopUi } from '#web/http/page.ts'
import { type View, view } from '#web/http/reply.ts'
import { GRACE_DAYS } from '#web/pages/grace-days.ts'
import { policyPage } from '#web/texts/policy-page.ts'
import { radios, select } from '#web/view/choices.ts'
import { form } from '#web/view/form.ts'
import { withQuery } from '#web/view/parts.ts'
import { when } from '#web/view/time.ts'

/** Returns why somebody without a second factor cannot ask others for one. */
export const notDone = (language: Language): string => policyPage[language].notDone

/** A person without a second factor sees one choice: to ask nobody. The API refuses the others. */
export function policyView(ui: ShopUi, { second_factor_policy: policy }: ReplyOf<'GET /v1/tenant'>): View {
  const t = policyPage[ui.language]
  const { session } = ui
  const { slug } = session.tenant
  const own = shopPath(slug, '/settings/second-factor')
  const isOneFactor = session.session.second_factor_at === null
  const choices = SECOND_FACTOR_POLICIES.filter((value) => value === 'none' || !isOneFactor)
  const dates = [
    { label: t.from.managers, from: policy.managers_from },
    { label: t.from.everyone, from: policy.everyone_from },
  ]
  return view({
    title: t.title,
    content: html`<p class="prose">${t.text}</p>
${policy.require !== 'none' && html`<dl>${dates.map(({ label, from }) => from !== null && html`<dt>${label}</dt><dd>${when(ui, from)}</dd>`)}</dl>`}
<p><a href="${withQuery(shopPath(slug, '/members'), { second_factor: 'false' })}">${t.without}</a></p>
${isOneFactor && html`<p class="prose">${t.ownFirst}</p><p><a class="button" href="${withQuery('/account/second-factor', { next: own })}">${t.setUp}</a></p>`}
${
  (choices.length > 1 || policy.require !== 'none') &&
  form(ui, {
    to: own,
    fields: [
      radios(ui, {
        name: 'require',
        legend: t.who,
        value: choices.includes(policy.require) ? policy.require : 'none',
        options: choices.map((value) => ({ value, label: t.choices[value].label, hint: t.choices[value].hint })),
      }),
      select(ui, {
        name: 'grace_days',
        label: t.days,
        hint: t.daysHint,
        // A date that stands only moves earlier: the longest moves none.
        value: policy.require === 'none' ? '14' : '30',
        options: GRACE_DAYS.map((value) => ({ value, label: t.after(Number(value)) })),
      }),
    ],
    submit: t.save,
    back: shopPath(slug, '/settings'),
  })
}`,
  })
}
