import * as v from 'valibot'
import type { Client } from '#shared/client/client.ts'
import { shopPath } from '#web/addresses.ts'
import { html } from '#web/html.ts'
import { page, type ShopUi } from '#web/page.ts'
import { NoticeQuery, optional, present } from '#web/query.ts'
import { type View, view } from '#web/reply.ts'
import { type ListedRole, type Member, MEMBER_STATUSES, nameOf, optionsOf, stateOf } from '#web/pages/members/people.ts'
import { filters } from '#web/view/filters.ts'
import { selectButton } from '#web/view/form.ts'
import { badge, empty, paging, table } from '#web/view/parts.ts'
import { when } from '#web/view/time.ts'

const Query = v.object({
  ...NoticeQuery.entries,
  q: optional,
  status: v.fallback(v.nullable(v.picklist(MEMBER_STATUSES)), null),
  cursor: optional,
})

interface Found {
  readonly members: { readonly data: readonly Member[]; readonly next_cursor: string | null }
  readonly roles: readonly ListedRole[]
}

/** The members that the filters find, and the roles of the shop. */
export async function findMembers(
  call: Client['call'],
  { q, status, cursor }: Omit<v.InferOutput<typeof Query>, 'notice'>,
): Promise<Found> {
  const [members, roles] = await Promise.all([
    call('GET /v1/members', { query: present({ q, status, cursor }) }),
    call('GET /v1/roles'),
  ])
  return { members, roles: roles.data }
}

export const listMembers = page({
  route: 'GET /s/{slug}/members',
  access: { permission: 'member.manage' },
  query: Query,
  load: ({ call, query }) => findMembers(call, query),
  handle: async (context) => membersView(context, context.query, context.data),
})

const TONES = { active: 'good', invited: 'plain', disabled: 'warn', removed: 'bad' } as const

/** The list, with its filters. */
export function membersView(
  ui: ShopUi,
  { q, status, cursor }: Omit<v.InferOutput<typeof Query>, 'notice'>,
  { members, roles }: Found,
): View {
  const { t, session } = ui
  const { members: texts } = t
  const base = shopPath(session.tenant.slug, '/members')
  const mayChange = ({ role, revoked_at }: Member) => revoked_at === null && role.rank <= session.role.rank
  const changeRole = (member: Member) =>
    selectButton(ui, {
      to: `${base}/${member.id}/role`,
      name: 'role',
      label: texts.roleOf(nameOf(member)),
      value: member.role.code,
      options: optionsOf(roles, session.role.rank),
      submit: texts.change,
      about: nameOf(member),
    })
  const list = table<Member>(
    {
      caption: texts.caption,
      columns: [
        {
          head: texts.person,
          cell: (member) =>
            html`${nameOf(member)}${member.user.full_name !== null && html` <span class="quiet">${member.user.email}</span>`}`,
        },
        {
          head: texts.status,
          cell: (member) => badge(texts.states[stateOf(member)], TONES[stateOf(member)]),
        },
        { head: texts.role, cell: (member) => (mayChange(member) ? changeRole(member) : member.role.label) },
        { head: texts.since, cell: (member) => when(ui, member.revoked_at ?? member.accepted_at ?? member.created_at) },
        {
          head: texts.actions,
          cell: (member) =>
            mayChange(member) &&
            html`<a href="${base}/${member.id}/remove">${texts.remove}<span class="unseen"> ${nameOf(member)}</span></a>`,
        },
      ],
    },
    members.data,
  )
  return view({
    title: texts.title,
    content: html`<p><a class="button" href="${shopPath(session.tenant.slug, '/invitations')}">${texts.invite}</a></p>
${filters({ ...ui, path: base }, texts.filters, [
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
${paging({ ...ui, path: base }, { query: { q, status }, cursor, next: members.next_cursor })}`,
  })
}
