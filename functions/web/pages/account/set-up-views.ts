import { shownEmail } from '#shared/schema/shown-email.ts'
import { type Html, html } from '#web/http/html.ts'
import { type Me, proofOf } from '#web/http/me.ts'
import { present } from '#web/http/query.ts'
import { type View, view } from '#web/http/reply.ts'
import type { Draft } from '#web/pages/account/draft.ts'
import { setUp } from '#web/texts/set-up.ts'
import { actionButton, field, form } from '#web/view/form.ts'
import { qrCode } from '#web/view/qr.ts'
import { withQuery } from '#web/view/parts.ts'
import type { Ui } from '#web/view/ui.ts'

const BASE = '/account/second-factor'
const [APP, CODES] = [`${BASE}/app`, `${BASE}/recovery-codes`]

/** Recovery codes, to be printed or kept. */
export const codeList = (codes: readonly string[]): Html =>
  html`<ol class="codes">${codes.map((code) => html`<li><code>${code}</code></li>`)}</ol>`

/** The steps in which an app is set up. */
export function appView(context: Ui & { readonly session: Me }, { secret, uri, recovery_codes: codes }: Draft): View {
  const t = setUp[context.language]
  const { session, wanted } = context
  const hidden = present({ next: wanted })
  const { secondFactor } = context.t
  const isFirst = proofOf(session) === 'password'
  let steps = 0
  const heading = (text: string) => html`<h2>${t.step((steps += 1), text)}</h2>`
  return view({
    title: t.appTitle,
    content: html`<p class="prose">${isFirst ? t.appText : t.anotherApp}</p>
${codes !== null && html`${heading(t.save)}<p class="prose">${t.saveText}</p>${codeList(codes)}`}
${heading(t.scan)}
<p class="prose">${t.scanText}</p>
${qrCode(uri, t.qr)}
<p><a href="${uri}">${t.onPhone}</a></p>
<p class="prose">${t.typeKey} <code class="key">${(secret.match(/.{1,4}/g) ?? []).join(' ')}</code></p>
${heading(t.enter)}
${form(context, {
  to: APP,
  hidden,
  fields: [
    field(context, {
      name: 'code',
      label: secondFactor.code,
      hint: secondFactor.codeHint,
      autocomplete: 'one-time-code',
    }),
    isFirst &&
      field(context, {
        name: 'setup_code',
        label: t.setupCode,
        hint: t.setupHint(shownEmail(session.user.email)),
        autocomplete: 'off',
      }),
  ],
  submit: t.finish,
  back: withQuery(BASE, hidden),
})}
${isFirst && actionButton(context, { to: `${BASE}/setup-code`, hidden, label: t.sendAgain })}`,
  })
}

/** In the place of the steps, when what the factor is set up with is too old or belongs to another session. */
export const startOverView = (ui: Ui, what: 'appTitle' | 'passkeyTitle'): View =>
  view({
    title: setUp[ui.language][what],
    content: html`<p class="prose">${ui.t.secondFactor.notices['draft-expired']}</p><p><a href="${withQuery(BASE, { next: ui.wanted })}">${ui.t.secondFactor.title}</a></p>`,
  })

/** New recovery codes, or a button that shows them. */
export function codesView(ui: Ui, draft: Draft | null): View {
  const t = setUp[ui.language]
  const codes = draft?.recovery_codes ?? null
  return view({
    title: t.codesTitle,
    content: html`<p class="prose">${codes === null ? t.codesText : t.codesShown}</p>
${codes !== null && codeList(codes)}
${form(ui, {
  to: CODES,
  hidden: draft === null || codes === null ? {} : { saved: draft.expires_at },
  fields: null,
  submit: codes === null ? t.showCodes : t.saved,
  back: BASE,
})}`,
  })
}
