import type { ReplyOf } from '#shared/client/client.ts'
import { shopName } from '#shared/identity/shop-name.ts'
import { type Html, html } from '#web/http/html.ts'
import { present } from '#web/http/query.ts'
import { type View, view } from '#web/http/reply.ts'
import { sessionsPage } from '#web/texts/sessions-page.ts'
import { setUp } from '#web/texts/set-up.ts'
import { field, form } from '#web/view/form.ts'
import { badge, confirmation, table } from '#web/view/parts.ts'
import { absolute, when } from '#web/view/time.ts'
import type { Ui } from '#web/view/ui.ts'

type Factors = ReplyOf<'GET /v1/auth/factors'>
type Factor = Factors['data'][number]

const BASE = '/account/second-factor'
/** From so few recovery codes on, the page says that new ones are due. */
const FEW_CODES = 3

/** An app keeps this name until its owner gives it another. */
const nameOf = ({ language }: Ui, { name }: Factor): string =>
  name === 'Authenticator app' ? setUp[language].app : name

/** The factors of the person, what is left of the recovery codes, and which shops ask. `wanted`: where the person goes on to with a factor. */
export function factorsView(context: Ui, { data, recovery_codes: codes, required_by: shops, reset }: Factors): View {
  const t = setUp[context.language]
  const isOn = data.length > 0
  const hasApp = data.some(({ kind }) => kind === 'totp')
  // Who is in no shop yet may have come because one asks for the second step.
  const address = context.wanted ?? (context.session?.tenant === null ? '/shops' : null)
  const start = (submit: string, to = `${BASE}/start`) =>
    form(context, { to, hidden: present({ next: context.wanted }), fields: null, submit })
  return view({
    title: context.t.secondFactor.title,
    content: html`${reset !== null && html`<p class="prose"><strong>${reset.effective_at === null ? t.resetWaits : t.resetOpen(absolute(context, reset.effective_at))}</strong> ${t.resetStop}</p>`}
${codes !== null && html`<p>${badge(t.codesLeft(codes.left), codes.left > FEW_CODES ? 'plain' : 'warn')} ${codes.left === 0 ? t.codesNone : codes.left <= FEW_CODES && t.codesLow}</p>`}
${isOn && address !== null && html`<p><a class="button" href="${address}">${context.wanted === null ? t.toShops : t.goOn}</a></p>`}
<p class="prose">${t.why}</p>
${isOn ? apps(context, data) : html`<p class="prose">${t.apps}</p>${start(t.setUp)}`}
${
  // Before the passkeys: the first form of a page asks for the proof, and who lost a phone needs a new app first.
  hasApp
    ? html`<h2>${t.newPhone}</h2><p class="prose">${t.anotherApp}</p>${start(t.setUpNew)}`
    : isOn && html`<h2>${t.app}</h2>${start(t.setUp)}`
}
${context.hasPasskeys && html`<h2>${t.passkeys}</h2><p class="prose">${t.passkeyText}</p><noscript><p class="prose">${t.noPasskeys}</p></noscript>${start(t.addPasskey, `${BASE}/passkey/start`)}`}
${isOn && html`<h2>${t.codes}</h2><p><a href="${BASE}/recovery-codes">${t.newCodes}</a></p>`}
${shops.length > 0 && html`<h2>${t.requiredBy}</h2><ul>${shops.map(({ tenant, from }) => html`<li>${t.requiredFrom(shopName(tenant), absolute(context, from, tenant.timezone))}</li>`)}</ul>`}
<div class="actions"><a href="/account">${sessionsPage[context.language].back}</a></div>`,
  })
}

function apps(ui: Ui, data: readonly Factor[]): Html {
  const t = setUp[ui.language]
  const { members } = ui.t
  return table<Factor>(
    {
      caption: t.caption,
      columns: [
        {
          head: t.name,
          cell: (factor) =>
            html`${nameOf(ui, factor)}${!factor.usable && html`<br><span class="quiet">${t.otherAddress}</span>`}`,
        },
        { head: t.added, cell: ({ created_at }) => when(ui, created_at) },
        { head: t.lastUsed, cell: ({ last_used_at: at }) => (at === null ? t.never : when(ui, at)) },
        {
          head: members.actions,
          cell: (factor) =>
            html`<div class="actions">${(
              [
                ['name', t.rename],
                ['remove', t.remove],
              ] as const
            ).map(
              ([to, label]) =>
                html`<a href="${BASE}/${factor.id}/${to}">${label}<span class="unseen"> ${nameOf(ui, factor)}</span></a> `,
            )}</div>`,
        },
      ],
    },
    data,
  )
}

export function nameView(ui: Ui, factor: Factor): View {
  const t = setUp[ui.language]
  const name = nameOf(ui, factor)
  return view({
    title: t.renameTitle(name),
    content: form(ui, {
      to: `${BASE}/${factor.id}/name`,
      fields: field(ui, { name: 'name', label: t.name, value: name, autocomplete: 'off' }),
      submit: t.saveName,
      back: BASE,
    }),
  })
}

export function removalView(ui: Ui, factor: Factor, isLast: boolean): View {
  const t = setUp[ui.language]
  return view({
    title: t.removeTitle(nameOf(ui, factor)),
    content: confirmation(ui, {
      text: html`<p>${t.removeText} ${isLast && t.removeLast}</p>`,
      to: `${BASE}/${factor.id}/remove`,
      hidden: { kind: factor.kind },
      label: t.removeConfirm,
      back: BASE,
    }),
  })
}
