import * as v from 'valibot'
import { AUDIT_ACTIONS } from '#shared/audit/actions.ts'
import type { Client, ReplyOf } from '#shared/client/client.ts'
import { shopPath } from '#web/http/addresses.ts'
import { html } from '#web/http/html.ts'
import { page } from '#web/http/page.ts'
import { NoticeQuery, optional, present } from '#web/http/query.ts'
import { view } from '#web/http/reply.ts'
import { filters } from '#web/view/filters.ts'
import { empty, paging } from '#web/view/parts.ts'
import { startOfDay, when } from '#web/view/time.ts'
import { nameOf } from '#web/pages/members/people.ts'
import { sentence } from '#web/pages/audit-log/sentence.ts'

const ACTIONS = Object.keys(AUDIT_ACTIONS)

const Day = v.fallback(v.nullable(v.pipe(v.string(), v.isoDate())), null)
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
    const { call, query, data, session, t } = context
    const { auditLog: texts } = t
    const { timezone } = session.tenant
    const entries = data ?? (await find(call, query, timezone))
    const { members = [] } = entries
    const path = shopPath(session.tenant.slug, '/audit-log')
    // The target of an entry is a membership, an invitation or a user.
    const names = new Map(
      members.flatMap((member) => [member.id, member.user.id ?? ''].map((id) => [id, nameOf(member)] as const)),
    )
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
        { name: 'from', label: texts.from, type: 'date', value: from },
        { name: 'to', label: texts.to, type: 'date', value: to },
      ])}
${
  entries.data.length === 0
    ? empty(texts.noneTitle, html`<p>${texts.none}</p>`)
    : html`<ol class="sentences">${entries.data.map((entry) => html`<li><p>${sentence(texts, entry, names)}</p> ${when(context, entry.occurred_at)}</li>`)}</ol>`
}
${paging({ ...context, path }, { query: { actor, action, from, to }, cursor: query.cursor, next: entries.next_cursor })}`,
    })
  },
})

type Found = ReplyOf<'GET /v1/audit-log'>
type Texts = Parameters<typeof sentence>[0]

const actors = (members: NonNullable<Found['members']>) =>
  members.flatMap((member) => (member.user.id === null ? [] : [{ value: member.user.id, label: nameOf(member) }]))

const actions = ({ actions: labels }: Texts) =>
  Object.entries(labels)
    .map(([value, [label]]) => ({ value, label }))
    .toSorted((a, b) => a.label.localeCompare(b.label))
