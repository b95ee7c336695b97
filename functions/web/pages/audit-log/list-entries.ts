import { type Html, html } from '#web/http/html.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { FormRefused } from '#web/http/refusal.ts'
import { type View, view } from '#web/http/reply.ts'
import { nameOf } from '#web/pages/members/people.ts'
import { entriesByDay } from '#web/pages/audit-log/entries.ts'
import {
  actionsIn,
  errorsIn,
  fieldsOf,
  find,
  type Found,
  MOST_PEOPLE,
  type Person,
  Query,
} from '#web/pages/audit-log/filter.ts'
import { onPaper } from '#web/pages/audit-log/on-paper.ts'
import { wordsOf } from '#web/pages/audit-log/words.ts'
import type { ActionTexts } from '#web/texts/audit-actions.ts'
import { filters } from '#web/view/filters.ts'
import { numbersIn } from '#web/view/number.ts'
import { empty, paging, withQuery } from '#web/view/parts.ts'
import { DAYS } from '#web/view/time.ts'

export const listEntries = page({
  route: 'GET /s/{slug}/audit-log',
  access: { permission: 'member.manage' },
  navigation: 'auditLog',
  query: Query,
  // The days of the filter are days of the shop, so only a search without them can begin before the session is known.
  load: async ({ call, query }) => (query.from === null && query.to === null ? find(call, query, 'UTC') : null),
  async handle(context) {
    const { call, query, data, session, t } = context
    const refused = errorsIn(context, query)
    if (refused.length > 0) throw new FormRefused(...refused)
    const found = data ?? (await find(call, query, session.tenant.timezone))
    if (found.people.length > MOST_PEOPLE)
      throw new FormRefused({ field: 'who', message: t.auditLog.tooManyPeople(MOST_PEOPLE) })
    return logView(context, query, found, await actionsIn(context.language))
  },
  again: async (context) => logView(context, context.query, null, await actionsIn(context.language)),
})

/** The filters with the entries that they find. Null: the filters were refused. */
function logView(context: ShopUi, query: Query, found: Found | null, texted: ActionTexts): View {
  const { auditLog: texts } = context.t
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
function peopleOf(texts: ShopUi['t']['auditLog'], { actor }: Query, { people, log }: Found): readonly Person[] {
  const chosen = log?.data.find((entry) => actor !== null && entry.actor?.id === actor)?.actor
  if (chosen === undefined || chosen === null) return people
  return [chosen.type === 'key' ? { id: chosen.id, email: '', full_name: texts.key(chosen.name) } : chosen]
}

/** Whose entries are shown, each with a link to theirs alone. */
function named({ t, path }: ShopUi, query: Query, people: readonly Person[]): Html {
  const own = (person: Person) => withQuery(path, { ...fieldsOf(query), actor: person.id })
  const names = people.map((user) =>
    people.length === 1
      ? html`<strong>${nameOf({ user })}</strong>`
      : html`<a href="${own(user)}">${nameOf({ user })}</a>`,
  )
  return html`<p>${t.auditLog.entriesOf} ${names.map((name, at) => html`${at > 0 && ', '}${name}`)}. <a class="screen" href="${withQuery(path, { ...fieldsOf(query), who: null, actor: null })}">${t.auditLog.everybody}</a></p>`
}

function listed(ui: ShopUi, query: Query, { log }: Found, texted: ActionTexts): Html {
  const { auditLog: texts } = ui.t
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
