import { type Html, html } from '#web/http/html.ts'
import { linksFor } from '#web/http/navigation.ts'
import type { ShopUi } from '#web/http/page.ts'
import { say } from '#web/pages/audit-log/sentence.ts'
import { changesOf, type Entry, type Words } from '#web/pages/audit-log/words.ts'
import { auditLog } from '#web/texts/audit-log.ts'
import { withQuery } from '#web/view/parts.ts'
import { dayIn, when } from '#web/view/time.ts'

/** The entries under headings of their days. */
export function entriesByDay(ui: ShopUi, entries: readonly Entry[], words: Words): Html[] {
  const days = Map.groupBy(entries, ({ occurred_at: time }) => dayIn(ui, time))
  return Array.from(
    days,
    ([day, ofDay]) => html`<h2>${day}</h2>
<ol class="sentences">${ofDay.map((entry) => item(ui, entry, words))}</ol>`,
  )
}

function item(ui: ShopUi, entry: Entry, words: Words): Html {
  const texts = auditLog[ui.language]
  const { text, target, fields } = say(texts, entry, words)
  const changes = changesOf(entry, words, texts, fields)
  return html`<li><div><p>${linked(text, target, addressOf(ui, entry, target))}</p>${changes.length > 0 && html`<ul class="quiet">${changes.map((change) => html`<li>${change}</li>`)}</ul>`}</div> ${when(ui, entry.occurred_at, { underDay: true })}</li>`
}

/** The sentence, with a link around the name of its target. */
function linked(text: string, target: string, address: string | null): Html {
  const at = target === '' ? -1 : text.lastIndexOf(target)
  if (address === null || at < 0) return html`${text}`
  return html`${text.slice(0, at)}<a href="${address}">${target}</a>${text.slice(at + target.length)}`
}

/** Returns the page that shows the target, if the person may open it. */
function addressOf(ui: ShopUi, { action, target: { type } }: Entry, name: string): string | null {
  const { tenant, permissions } = ui.session
  const pageOf = (wanted: string) =>
    linksFor(ui, tenant.slug, permissions).find(({ name: page }) => page === wanted)?.to ?? null
  if (type === 'vendor_account' || type === 'sync_run') return pageOf('vendors')
  if (type !== 'membership' && type !== 'user') return null
  const members = pageOf('members')
  return members === null
    ? null
    : withQuery(members, { q: name, status: action === 'membership.revoked' ? 'revoked' : null })
}
