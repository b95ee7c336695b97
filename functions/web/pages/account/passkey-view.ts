import type { ReplyOf } from '#shared/client/client.ts'
import { shownEmail } from '#shared/schema/shown-email.ts'
import { html } from '#web/http/html.ts'
import type { Me } from '#web/http/me.ts'
import { present } from '#web/http/query.ts'
import { type View, view } from '#web/http/reply.ts'
import { setUp } from '#web/texts/set-up.ts'
import type { Draft } from '#web/pages/account/draft.ts'
import { codeList } from '#web/pages/account/set-up-views.ts'
import { actionButton, field } from '#web/view/form.ts'
import { passkeyForm } from '#web/view/passkey.ts'
import { withQuery } from '#web/view/parts.ts'
import type { Ui } from '#web/view/ui.ts'

const BASE = '/account/second-factor'

/** The steps in which a passkey is made. `draft`: the recovery codes that come with the first factor. */
export function passkeyView(
  context: Ui & { readonly session: Me },
  options: ReplyOf<'POST /v1/auth/factors/passkey-options'>['options'],
  draft: Draft | null,
): View {
  const t = setUp[context.language]
  const hidden = present({ next: context.wanted })
  const codes = draft?.recovery_codes ?? null
  return view({
    title: t.passkeyTitle,
    content: html`<p class="prose">${t.passkeyText}</p>
<p data-without class="prose">${t.noPasskeys} <a href="${withQuery(BASE, hidden)}">${context.t.common.cancel}</a></p>
${codes !== null && html`<p class="prose">${t.appText}</p><h2>${t.save}</h2><p class="prose">${t.saveText}</p>${codeList(codes)}`}
${passkeyForm(context, {
  to: `${BASE}/passkey`,
  hidden: { ...hidden, ...present({ draft: draft?.expires_at ?? null }) },
  options,
  fields: [
    field(context, { name: 'name', label: t.name, hint: t.passkeyName, value: t.passkey, autocomplete: 'off' }),
    codes !== null &&
      field(context, {
        name: 'setup_code',
        label: t.setupCode,
        hint: t.setupHint(shownEmail(context.session.user.email)),
        autocomplete: 'off',
      }),
  ],
  submit: t.makePasskey,
  back: withQuery(BASE, hidden),
})}
${codes !== null && actionButton(context, { to: `${BASE}/passkey/setup-code`, hidden, label: t.sendAgain })}`,
  })
}
