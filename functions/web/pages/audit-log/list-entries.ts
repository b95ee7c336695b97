import * as v from 'valibot'
import { AUDIT_ACTIONS } from '#shared/audit/actions.ts'
import type { Client, ReplyOf } from '#shared/client/client.ts'
import { shopPath } from '#web/http/addresses.ts'
import { type Html, html } from '#web/http/html.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { NoticeQuery, optional, present } from '#web/http/query.ts'
import { FormRefused } from '#web/http/refusal.ts'
import { type View, view } from '#web/http/reply.ts'
import { filters } from '#web/view/filters.ts'
import { empty, paging } from '#web/view/parts.ts'
import { DAYS, dayName, isDay, startOfDay, when } from '#web/view/time.ts'
import type { FieldMessage, Ui } from '#web/view/ui.ts'
import { nameOf } from '#web/pages/members/people.ts'
import { sentence } from '#web/pages/audit-log/sentence.ts'

const ACTIONS = Object.keys(AUDIT_ACTIONS)

// An empty field is none. What is no day of the calendar is refused at the field.
const Day = v.fallback(
  v.nullable(
    v.pipe(
      v.string(),
      v.transform((text) => (text === '' ? null : text)),
    ),
  ),
  null,
)
const Query = v.object({
  ...NoticeQuery.entries,
  actor: v.fallback(v.nullable(v.pipe(v.string(), v.uuid())), null),
  action: v.fallback(v.nullable(v.picklist(ACTIONS)), null),
  from: Day,
  to: Day,
  cursor: optional,
})
type Search = v.InferOutput<typeof Query>

/** The days of the filter are days of the shop, so only a search without them can begin before the session is known. */
const find = (call: Client['call'], { actor, action, from, to, cursor }: Search, timezone: string) => {
  const days = { from: from && startOfDay(from, timezone), to: to && startOfDay(to, timezone, 1) }
  return call('GET /v1/audit-log', { query: { ...present({ actor, action, cursor, ...days }), include: 'members' } })
}

export const listEntries = page({
  route: 'GET /s/{slug}/audit-log',
  access: { permission: 'member.manage' },
  navigation: 'auditLog',
  query: Query,
  load: async ({ call, query }) => (query.from === null && query.to === null ? find(call, query, 'UTC') : null),
  async handle(context) {
    const { call, query, data } = context
    const refused = errorsIn(context, query)
    if (refused.length > 0) throw new FormRefused(...refused)
    return entriesView(context, query, data ?? (await find(call, query, context.session.tenant.timezone)))
  },
  again: async (context) => entriesView(context, context.query, null),
})

/** Returns what is wrong with the days of the filter. */
function errorsIn({ language, t }: Ui, query: Search): FieldMessage[] {
  const message = t.auditLog.notADay(dayName(language, DAYS.min), dayName(language, DAYS.max))
  return (['from', 'to'] as const).flatMap((field) => {
    const day = query[field]
    return day === null || isDay(day) ? [] : [{ field, message }]
  })
}

/** The filters with the entries that they find. Null: the filters were refused. */
function entriesView(context: ShopUi, query: Search, entries: Found | null): View {
  const { session, t } = context
  const { auditLog: texts } = t
  const members = entries?.members ?? []
  const { actor, action, from, to } = query
  return view({
    title: texts.title,
    content: html`${filters(context, texts.filters, [
      {
        name: 'actor',
        label: texts.actor,
        value: actor,
        options: [{ value: '', label: texts.anybody }, ...actors(members)],
      },
      {
        name: 'action',
        label: texts.action,
        value: action,
        options: [{ value: '', label: texts.anything }, ...actions(texts)],
      },
      { name: 'from', label: texts.from, type: 'date', value: from, ...DAYS },
      { name: 'to', label: texts.to, type: 'date', value: to, ...DAYS },
    ])}
${entries !== null && found(context, entries)}
${
  entries !== null &&
  paging(
    { ...context, path: shopPath(session.tenant.slug, '/audit-log') },
    { query: { actor, action, from, to }, cursor: query.cursor, next: entries.next_cursor },
  )
}`,
  })
}

function found(ui: Ui, { data, members = [] }: Found): Html {
  const { auditLog: texts } = ui.t
  if (data.length === 0) return empty(texts.noneTitle, html`<p>${texts.none}</p>`)
  // The target of an entry is a membership, an invitation or a user.
  const names = new Map(
    members.flatMap((member) => [member.id, member.user.id ?? ''].map((id) => [id, nameOf(member)] as const)),
  )
  return html`<ol class="sentences">${data.map((entry) => html`<li><p>${sentence(texts, entry, names)}</p> ${when(ui, entry.occurred_at)}</li>`)}</ol>`
}

type Found = ReplyOf<'GET /v1/audit-log'>
type Texts = Parameters<typeof sentence>[0]

const actors = (members: NonNullable<Found['members']>) =>
  members.flatMap((member) => (member.user.id === null ? [] : [{ value: member.user.id, label: nameOf(member) }]))

const actions = ({ actions: labels }: Texts) =>
  Object.entries(labels)
    .map(([value, [label]]) => ({ value, label }))
    .toSorted((a, b) => a.label.localeCompare(b.label))
