import { type Html, html } from '#web/http/html.ts'
import type { ShopUi } from '#web/http/page.ts'
import type { Person, Query } from '#web/pages/audit-log/filter.ts'
import { nameOf } from '#web/pages/members/people.ts'
import type { ActionTexts } from '#web/texts/audit-actions.ts'
import { auditLog } from '#web/texts/audit-log.ts'
import { absolute, dayName } from '#web/view/time.ts'

/** The shop, the time and what the filters say: for a print, which does not have the filters themselves, and for a download. */
export function onPaper(
  ui: ShopUi,
  query: Query,
  people: readonly Person[],
  { look, actions }: { readonly look: 'paper' | 'quiet'; readonly actions: ActionTexts },
): Html {
  const { language, session } = ui
  const texts = auditLog[language]
  const { who, action, from, to, sign_ins: signIns } = query
  const label = action === null ? undefined : Object.entries(actions).find(([name]) => name === action)?.[1][0]
  const shown = people.length === 0 ? who : people.map((user) => nameOf({ user })).join(', ')
  const said = [
    shown !== null && `${texts.who}: ${shown}`,
    label !== undefined && `${texts.action}: ${label}`,
    from !== null && `${texts.from}: ${dayName(language, from)}`,
    to !== null && `${texts.to}: ${dayName(language, to)}`,
    `${texts.signIns}: ${signIns === null ? texts.leftOut : texts.included}`,
  ].filter((part) => part !== false)
  const now = new Date().toISOString()
  return html`<p class="${look}">${texts.asOf(session.tenant.legal_name, absolute(ui, now))}<br>${texts.filter(said.join(' · '))}</p>`
}
