import { roleName } from '#shared/identity/role-names.ts'
import { shownEmail } from '#shared/schema/shown-email.ts'
import * as v from 'valibot'
import { shopPath } from '#web/http/addresses.ts'
import { html } from '#web/http/html.ts'
import { page } from '#web/http/page.ts'
import { NoticeQuery, optional, present } from '#web/http/query.ts'
import { view } from '#web/http/reply.ts'
import { isOwn, type Member, MEMBER_STATUSES, nameOf, stateOf } from '#web/pages/members/people.ts'
import { filters } from '#web/view/filters.ts'
import { badge, empty, paging, table } from '#web/view/parts.ts'
import { when } from '#web/view/time.ts'

const Query = v.object({
  ...NoticeQuery.entries,
  q: optional,
  status: v.fallback(v.nullable(v.picklist(MEMBER_STATUSES)), null),
  cursor: optional,
})

const TONES = { active: 'good', invited: 'plain', disabled: 'warn', removed: 'bad' } as const

export const listMembers = page({
  route: 'GET /s/{slug}/members',
  access: { permission: 'member.manage' },
  navigation: 'members',
  query: Query,
  load: ({ call, query: { q, status, cursor } }) => call('GET /v1/members', { query: present({ q, status, cursor }) }),
  async handle(context) {
    const { t, session, query, data: members } = context
    const { q, status, cursor } = query
    const { members: texts } = t
    const base = shopPath(session.tenant.slug, '/members')
    const mayChange = ({ role, revoked_at }: Member) => revoked_at === null && role.rank <= session.role.rank
    const action = (member: Member, name: 'role' | 'remove', label: string) =>
      html`<a href="${base}/${member.id}/${name}">${label}<span class="unseen"> ${nameOf(member)}</span></a>`
    const list = table<Member>(
      {
        caption: texts.caption,
        columns: [
          {
            head: texts.person,
            cell: (member) =>
              html`${nameOf(member)} ${isOwn(session, member) && badge(texts.you, 'good')}${member.user.full_name !== null && html` <span class="quiet">${shownEmail(member.user.email)}</span>`}`,
          },
          {
            head: texts.status,
            cell: (member) => badge(texts.states[stateOf(member)], TONES[stateOf(member)]),
          },
          { head: texts.role, cell: ({ role }) => roleName(context.language, role) },
          {
            head: texts.since,
            cell: (member) => when(context, member.revoked_at ?? member.accepted_at ?? member.created_at),
          },
          {
            head: texts.actions,
            cell: (member) =>
              mayChange(member) &&
              html`<div class="actions">${action(member, 'role', texts.change)} ${action(member, 'remove', isOwn(session, member) ? texts.leave : texts.remove)}</div>`,
          },
        ],
      },
      members.data,
    )
    return view({
      title: texts.title,
      content: html`<p><a class="button" href="${shopPath(session.tenant.slug, '/invitations')}">${texts.invite}</a></p>
${filters(context, texts.filters, [
  { name: 'q', label: texts.search, type: 'search', value: q },
  {
    name: 'status',
    label: texts.status,
    value: status,
    options: [
      { value: '', label: texts.current },
      ...MEMBER_STATUSES.map((value) => ({ value, label: texts.states[value === 'revoked' ? 'removed' : value] })),
    ],
  },
])}
${members.data.length === 0 ? empty(texts.noneTitle, html`<p>${texts.none}</p>`) : list}
${paging(context, { query: { q, status }, cursor, next: members.next_cursor })}`,
    })
  },
})
