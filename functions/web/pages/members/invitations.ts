import { roleName } from '#shared/identity/role-names.ts'
import { shownEmail } from '#shared/schema/shown-email.ts'
import * as v from 'valibot'
import { type Client, ProblemError, type ReplyOf } from '#shared/client/client.ts'
import { shopPath } from '#web/http/addresses.ts'
import { html } from '#web/http/html.ts'
import { page, type ShopUi } from '#web/http/page.ts'
import { NoticeQuery, optional, present } from '#web/http/query.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { unlessGone } from '#web/http/unless-gone.ts'
import { LANGUAGES } from '#web/http/language.ts'
import { radios, select } from '#web/view/choices.ts'
import { actionButton, form, textArea } from '#web/view/form.ts'
import { badge, empty, paging, table } from '#web/view/parts.ts'
import { when } from '#web/view/time.ts'
import { explained, leastOf, type ListedRole } from '#web/pages/members/people.ts'

export type Invitation = ReplyOf<'GET /v1/members/invitations'>['data'][number]

interface Found {
  readonly invitations: { readonly data: readonly Invitation[]; readonly next_cursor: string | null }
  readonly roles: readonly ListedRole[]
  readonly cursor: string | null
}

async function findInvitations(call: Client['call'], cursor: string | null): Promise<Found> {
  const invitations = await call('GET /v1/members/invitations', { query: { ...present({ cursor }), include: 'roles' } })
  return { invitations, roles: invitations.roles ?? [], cursor }
}

export const listInvitations = page({
  route: 'GET /s/{slug}/invitations',
  access: { permission: 'member.manage' },
  navigation: 'invitations',
  query: v.object({ ...NoticeQuery.entries, cursor: optional, email: optional }),
  load: ({ call, query }) => findInvitations(call, query.cursor),
  handle: async (context) => invitationsView(context, context.data, context.query.email),
})

/** The first page of the list, with the form. */
export const firstInvitations = async (context: ShopUi & { readonly call: Client['call'] }): Promise<View> =>
  invitationsView(context, await findInvitations(context.call, null))

const JUST_MS = 60_000

/** Sends an invitation. The API mails none twice within minutes: after a second press, the first is on its way. */
export async function unlessJustSent(
  sending: Promise<Invitation>,
  { call, inviteTtlSeconds }: { readonly call: Client['call']; readonly inviteTtlSeconds: number },
  isIt: (invitation: Invitation) => boolean,
): Promise<Invitation> {
  try {
    return await sending
  } catch (error) {
    if (!(error instanceof ProblemError) || error.status !== 429) throw error
    const sent = (await call('GET /v1/members/invitations', { query: { limit: 100 } })).data.find(isIt)
    if (sent === undefined || Date.now() - (Date.parse(sent.expires_at) - inviteTtlSeconds * 1000) >= JUST_MS)
      throw error
    return sent
  }
}

export const resendInvitation = page({
  route: 'POST /s/{slug}/invitations/{id}/resend',
  access: { permission: 'member.manage' },
  formAt: '/s/{slug}/invitations',
  async handle(context) {
    const { params, call } = context
    const sending = call('POST /v1/members/invitations/{id}/resend', { params: { id: params.id } })
    const { email, role } = await unlessJustSent(sending, context, ({ id }) => id === params.id)
    const { data: roles } = await call('GET /v1/roles')
    const own = roles.find(({ code }) => code === role)
    const about = { who: shownEmail(email), role: own === undefined ? role : roleName(context.language, own) }
    return redirect(shopPath(params.slug, '/invitations'), { notice: 'invitation-sent', about })
  },
  again: firstInvitations,
})

export const cancelInvitation = page({
  route: 'POST /s/{slug}/invitations/{id}/cancel',
  access: { permission: 'member.manage' },
  formAt: '/s/{slug}/invitations',
  async handle({ params, call }) {
    const cancelled = await unlessGone(call('DELETE /v1/members/invitations/{id}', { params: { id: params.id } }))
    const about = { who: cancelled === null ? '' : shownEmail(cancelled.email) }
    return redirect(shopPath(params.slug, '/invitations'), { notice: 'invitation-cancelled', about })
  },
  again: firstInvitations,
})

const TONES = { pending: 'plain', expired: 'warn', cancelled: 'bad' } as const

/** `email` stands in the form at first. */
function invitationsView(ui: ShopUi, { invitations, roles, cursor }: Found, email: string | null = null): View {
  const { session } = ui
  const { invitations: texts, members } = ui.t
  const base = shopPath(session.tenant.slug, '/invitations')
  const givable = explained(ui, roles)
  const mayChange = ({ role }: Invitation) => givable.some(({ value }) => value === role)
  const labelOf = new Map(roles.map((role) => [role.code, roleName(ui.language, role)]))
  const list = table<Invitation>(
    {
      caption: texts.caption,
      columns: [
        { head: texts.email, cell: ({ email }) => shownEmail(email) },
        { head: members.role, cell: ({ role }) => labelOf.get(role) ?? role },
        {
          head: members.status,
          cell: ({ status, bounced_at }) =>
            bounced_at === null ? badge(texts.states[status], TONES[status]) : badge(texts.bounced, 'bad'),
        },
        { head: texts.expires, cell: ({ expires_at }) => when(ui, expires_at) },
        {
          head: members.actions,
          cell: (invitation) =>
            mayChange(invitation) &&
            html`${invitation.bounced_at !== null && html`<p>${texts.bouncedText}</p>`}<div class="actions"><a href="${shopPath(session.tenant.slug, `/members/${invitation.id}/role`)}">${members.change}<span class="unseen"> ${shownEmail(invitation.email)}</span></a> ${invitation.bounced_at === null && actionButton(ui, { to: `${base}/${invitation.id}/resend`, label: texts.resend, about: shownEmail(invitation.email) })} ${actionButton(ui, { to: `${base}/${invitation.id}/cancel`, label: texts.cancel, about: shownEmail(invitation.email) })}</div>`,
        },
      ],
    },
    invitations.data,
  )
  return view({
    title: texts.title,
    content: html`<h2>${texts.newTitle}</h2>
${form(ui, {
  to: base,
  fields: [
    textArea(ui, { name: 'email', label: texts.emails, hint: texts.emailsHint, rows: 3, value: email }),
    radios(ui, { name: 'role', legend: members.role, value: leastOf(ui, roles), options: givable }),
    select(ui, {
      name: 'language',
      label: texts.language,
      hint: texts.languageHint,
      value: session.user.language,
      options: Object.entries(LANGUAGES).map(([value, label]) => ({ value, label })),
    }),
  ],
  submit: texts.send,
})}
<h2>${texts.openTitle}</h2>
${invitations.data.length === 0 ? empty(texts.noneTitle, html`<p>${texts.none}</p>`) : list}
${paging({ ...ui, path: base }, { query: {}, cursor, next: invitations.next_cursor })}`,
  })
}
