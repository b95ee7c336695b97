import type { ReplyOf } from '#shared/client/client.ts'
import { shopPath } from '#web/http/addresses.ts'
import { type Html, html } from '#web/http/html.ts'
import type { ShopUi } from '#web/http/page.ts'
import { type View, view } from '#web/http/reply.ts'
import { nameOf } from '#web/pages/members/people.ts'
import { entriesByDay } from '#web/pages/audit-log/entries.ts'
import { fieldsOf, type Found, type Person, type Query } from '#web/pages/audit-log/filter.ts'
import { onPaper } from '#web/pages/audit-log/on-paper.ts'
import { type AuditTexts, wordsOf } from '#web/pages/audit-log/words.ts'
import type { ActionTexts } from '#web/texts/audit-actions.ts'
import { auditLog } from '#web/texts/audit-log.ts'
import { filters } from '#web/view/filters.ts'
import { numbersIn } from '#web/view/number.ts'
import { empty, paging, withQuery } from '#web/view/parts.ts'
import { absolute, DAYS } from '#web/view/time.ts'

/** The filters with the entries that they find. Null: the filters were refused. */
export function logView(context: ShopUi, query: Query, found: Found | null, texted: ActionTexts): View {
  const texts = auditLog[context.language]
  const { action, from, to, sign_ins: signIns } = query
  const people = found === null ? [] : peopleOf(texts, query, found)
  return view({
    title: texts.title,
    content: html`${found !== null && onPaper(context, query, people, { look: 'paper', actions: texted })}
${filters(context, texts.filters, [
  {
    name: 'who',
    label: texts.who,
    type: 'search',
    value: query.who ?? people.map((user) => nameOf({ user })).join(', '),
  },
  {
    name: 'action',
    label: texts.action,
    value: action,
    options: [{ value: '', label: texts.anything }, ...actions(texted)],
  },
  { name: 'from', label: texts.from, type: 'date', value: from, ...DAYS },
  { name: 'to', label: texts.to, type: 'date', value: to, ...DAYS },
  {
    name: 'sign_ins',
    label: texts.signIns,
    value: signIns,
    options: [
      { value: '', label: texts.leftOut },
      { value: 'shown', label: texts.included },
    ],
  },
])}
${people.length > 0 && named(context, query, people)}
${found !== null && listed(context, query, found, texted)}`,
  })
}

const actions = (labels: ActionTexts) =>
  Object.entries(labels)
    .map(([value, [label]]) => ({ value, label }))
    .toSorted((a, b) => a.label.localeCompare(b.label))

/** Returns whose entries are shown: those whom the search found, or the one who was chosen of them. Nobody: there is no such filter. */
function peopleOf(texts: AuditTexts, { actor }: Query, { people, log }: Found): readonly Person[] {
  const chosen = log?.data.find((entry) => actor !== null && entry.actor?.id === actor)?.actor
  if (chosen === undefined || chosen === null) return people
  return [chosen.type === 'key' ? { id: chosen.id, email: '', full_name: texts.key(chosen.name) } : chosen]
}

/** Whose entries are shown, each with a link to theirs alone. */
function named({ language, path }: ShopUi, query: Query, people: readonly Person[]): Html {
  const texts = auditLog[language]
  const own = (person: Person) => withQuery(path, { ...fieldsOf(query), actor: person.id })
  const names = people.map((user) =>
    people.length === 1
      ? html`<strong>${nameOf({ user })}</strong>`
      : html`<a href="${own(user)}">${nameOf({ user })}</a>`,
  )
  return html`<p>${texts.entriesOf} ${names.map((name, at) => html`${at > 0 && ', '}${name}`)}. <a class="screen" href="${withQuery(path, { ...fieldsOf(query), who: null, actor: null })}">${texts.everybody}</a></p>`
}

function listed(ui: ShopUi, query: Query, { log }: Found, texted: ActionTexts): Html {
  const texts = auditLog[ui.language]
  if (log === null) return empty(texts.noneTitle, html`<p>${texts.nobody}</p>`)
  const { data, next_cursor: next, position, roles = [] } = log
  if (data.length === 0) return empty(texts.noneTitle, html`<p>${texts.none}</p>`)
  const number = numbersIn(ui.language)
  const total = number.format(position?.total ?? 0)
  const first = (position?.preceding ?? 0) + 1
  return html`${
    typeof position?.preceding === 'number' &&
    html`<p class="quiet">${texts.place(number.format(first), number.format(first + data.length - 1), position.more ? texts.moreThan(total) : total)}</p>`
  }
<p class="screen"><a href="${withQuery(`${ui.path}/download`, fieldsOf(query))}">${texts.download}</a></p>
${entriesByDay(ui, data, wordsOf(ui, roles, texted))}
${paging(ui, { query: fieldsOf(query), cursor: query.cursor, next, previous: position?.previous_cursor ?? null })}`
}

interface Part {
  readonly people: readonly Person[]
  /** What one file contains. Null: nothing. */
  readonly part: ReplyOf<'GET /v1/audit-log'>['part'] | null
  readonly actions: ActionTexts
}

/** What one file of the log contains, with its links, and a link to the next file. */
export function downloadView(ui: ShopUi, query: Query, { people, part, actions }: Part): View {
  const { language, path, session, t } = ui
  const texts = auditLog[language]
  const log = shopPath(session.tenant.slug, '/audit-log')
  const file = (format: string) => withQuery(`${log}.${format}`, { ...fieldsOf(query), cursor: query.cursor })
  const { entries = 0, newest = null, oldest = null, next_cursor: next = null } = part ?? {}
  return view({
    title: texts.downloadTitle,
    content: html`<p>${texts.downloadText}</p>
${onPaper(ui, query, people, { look: 'quiet', actions })}
${
  newest === null || oldest === null
    ? empty(texts.noneTitle, html`<p>${texts.none}</p>`)
    : html`<p>${texts.part(numbersIn(language).format(entries), absolute(ui, newest), absolute(ui, oldest))}</p>
<div class="actions"><a class="button" href="${file('csv')}" download>${texts.downloadCsv}</a> <a href="${file('ndjson')}" download>${texts.downloadNdjson}</a></div>`
}
${next !== null && html`<p>${texts.morePart} <a href="${withQuery(path, { ...fieldsOf(query), cursor: next })}">${texts.nextPart}</a></p>`}
<p><a href="${withQuery(log, fieldsOf(query))}">${t.common.back}</a></p>`,
  })
}
