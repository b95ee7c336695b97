import { shownEmail } from '#shared/schema/shown-email.ts'
import { shopPath } from '#web/http/addresses.ts'
import { html } from '#web/http/html.ts'
import type { ShopUi } from '#web/http/page.ts'
import { type View, view } from '#web/http/reply.ts'
import { type Member, nameOf } from '#web/pages/members/people.ts'
import { factorReset } from '#web/texts/factor-reset.ts'
import { actionButton } from '#web/view/form.ts'
import { confirmation } from '#web/view/parts.ts'
import type { Ui } from '#web/view/ui.ts'

/** Asks whether a member has lost the phone and the recovery codes. */
export function resetView(ui: ShopUi, member: Member): View {
  const t = factorReset[ui.language]
  const { tenant } = ui.session
  const name = nameOf(member)
  return view({
    title: t.resetTitle(name),
    content: confirmation(ui, {
      text: html`<p>${t.resetFirst}</p><p><strong>${t.resetSure(name)}</strong></p><p>${t.resetWhat} ${t.resetPlatform}</p>`,
      to: shopPath(tenant.slug, `/members/${member.id}/factor-reset`),
      label: t.resetConfirm,
      back: shopPath(tenant.slug, '/members'),
    }),
  })
}

/** Asks the holder of a link whether the second step stays. */
export function cancelView(ui: Ui, email: string): View {
  const t = factorReset[ui.language]
  return view({
    title: t.cancelTitle(shownEmail(email)),
    content: html`<p class="prose">${t.cancelText}</p>
${actionButton(ui, { to: '/cancel-reset', hidden: { username: email }, label: t.cancelConfirm, style: 'main' })}`,
  })
}

export const nothingToCancel = ({ language }: Ui) => html`<p>${factorReset[language].cancelNothing}</p>`
