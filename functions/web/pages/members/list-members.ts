import { roleName } from '#shared/identity/role-names.ts'
import { shownEmail } from '#shared/schema/shown-email.ts'
import * as v from 'valibot'
import { shopPath } from '#web/http/addresses.ts'
import { type Html, html } from '#web/http/html.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { NoticeQuery, optional, present } from '#web/http/query.ts'
import { view } from '#web/http/reply.ts'
import { isOwn, type Member, MEMBER_STATUSES, nameOf, stateOf } from '#web/pages/members/people.ts'
import { filters } from '#web/view/filters.ts'
import { badge, empty, paging, table, withQuery } from '#web/view/parts.ts'
import { when } from '#web/view/time.ts'

/** With a second factor, or without one. */
const FACTORS = ['true', 'false'] as const

const Query = v.object({
  ...NoticeQuery.entries,
  q: optional,
  status: v.fallback(v.picklist(MEMBER_STATUSES), 'active'),
  role: optional,
  second_factor: v.fallback(v.nullable(v.picklist(FACTORS)), null),
  cursor: optional,
})

const TONES = { active: 'good', invited: 'plain', disabled: 'warn', removed: 'bad' } as const

/** The members of the shop by name. Who is only invited stands among the invitations, and nowhere else. */
export const listMembers = page({
  route: 'GET /s/{slug}/members',
  access: { permission: 'member.manage' },
  navigation: 'members',
  query: Query,
  load: ({ call, query: { status, q, role, second_factor, cursor } }) =>
    call('GET /v1/members', {
      query: { ...present({ q, role, second_factor, cursor }), status, include: 'total,roles' },
    }),
  async handle(context) {
    const { t, session, query, data, language } = context
    const { q, status, role, second_factor, cursor } = query
    const { members: texts } = t
    const invitations = shopPath(session.tenant.slug, '/invitations')
    return view({
      title: texts.title,
      content: html`<p><a class="button" href="${invitations}">${texts.invite}</a></p>
${filters(context, texts.filters, [
  { name: 'q', label: texts.search, type: 'search', value: q },
  {
    name: 'role',
    label: texts.role,
    value: role,
    options: [
      { value: '', label: texts.everyRole },
      ...(data.roles ?? []).map((each) => ({ value: each.code, label: roleName(language, each) })),
    ],
  },
  {
    name: 'status',
    label: texts.status,
    value: status,
    options: MEMBER_STATUSES.map((value) => ({
      value,
      label: texts.states[value === 'revoked' ? 'removed' : value],
    })),
  },
  {
    name: 'second_factor',
    label: texts.factor,
    value: second_factor,
    options: [
      { value: '', label: texts.everyFactor },
      ...FACTORS.map((value) => ({ value, label: texts.factors[value] })),
    ],
  },
])}
${
  data.data.length === 0
    ? empty(
        texts.noneTitle,
        html`<p>${texts.none}</p><p><a href="${context.path}">${texts.showAll}</a> · <a href="${invitations}">${t.invitations.openTitle}</a></p>`,
      )
    : html`<p class="quiet">${texts.range((data.preceding ?? 0) + 1, (data.preceding ?? 0) + data.data.length, data.total ?? 0)}</p>${list(context, data.data)}`
}
${paging(context, { query: { q, status, role, second_factor }, cursor, next: data.next_cursor, previous: data.previous_cursor ?? null })}`,
    })
  },
})

const list = (ui: ShopUi, members: readonly Member[]): Html => {
  const { members: texts } = ui.t
  return table<Member>(
    {
      caption: texts.caption,
      columns: [
        {
          head: texts.person,
          cell: (member) =>
            html`${nameOf(member)} ${isOwn(ui.session, member) && badge(texts.you, 'good')}${member.user.full_name !== null && html` <span class="quiet">${shownEmail(member.user.email)}</span>`}`,
        },
        {
          head: texts.status,
          cell: (member) => badge(texts.states[stateOf(member)], TONES[stateOf(member)]),
        },
        { head: texts.role, cell: ({ role }) => roleName(ui.language, role) },
        { head: texts.since, cell: (member) => when(ui, member.revoked_at ?? member.accepted_at ?? member.created_at) },
        { head: texts.actions, cell: (member) => actions(ui, member) },
      ],
    },
    members,
  )
}

function actions(ui: ShopUi, member: Member): Html | null {
  const { t, session } = ui
  const { members: texts } = t
  const link = (to: string, label: string) =>
    html`<a href="${shopPath(session.tenant.slug, to)}">${label}<span class="unseen"> ${nameOf(member)}</span></a>`
  if (member.revoked_at !== null)
    return html`<div class="actions">${link(withQuery('/invitations', { email: member.user.email }), texts.inviteAgain)}</div>`
  if (member.role.rank > session.role.rank) return null
  const role = link(`/members/${member.id}/role`, texts.change)
  return isOwn(session, member)
    ? html`<div class="actions">${role} ${link('/leave', texts.leave)}</div>`
    : html`<div class="actions">${role} ${link(`/members/${member.id}/sessions`, texts.endSessions)} ${member.second_factor === true && link(`/members/${member.id}/factor-reset`, texts.lostPhone)} ${link(`/members/${member.id}/remove`, texts.remove)}</div>`
}
