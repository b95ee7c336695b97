import { shopName } from '#shared/identity/shop-name.ts'
import * as v from 'valibot'
import type { ReplyOf } from '#shared/client/client.ts'
import { html } from '#web/http/html.ts'
import { page } from '#web/http/page.ts'
import { NoticeQuery, optional, present } from '#web/http/query.ts'
import { redirect, view } from '#web/http/reply.ts'
import { unlessGone } from '#web/http/unless-gone.ts'
import { actionButton } from '#web/view/form.ts'
import { badge, paging, table } from '#web/view/parts.ts'
import { when } from '#web/view/time.ts'
import { deviceKind, deviceName } from '#web/pages/account/device.ts'

type Session = ReplyOf<'GET /v1/auth/sessions'>['data'][number]

export const listSessions = page({
  route: 'GET /account/sessions',
  access: 'session',
  query: v.object({ ...NoticeQuery.entries, cursor: optional }),
  load: ({ call, query }) => call('GET /v1/auth/sessions', { query: present({ cursor: query.cursor }) }),
  async handle(context) {
    const { data, query, t } = context
    const { sessions: texts } = t
    const device = ({ user_agent }: Session) => deviceName(user_agent, texts)
    const list = table<Session>(
      {
        caption: texts.caption,
        columns: [
          {
            head: texts.device,
            cell: (session) =>
              html`${device(session)} ${session.current && badge(texts.current, 'good')} <span class="quiet">${deviceKind(session.user_agent, texts)}</span>`,
          },
          { head: texts.shop, cell: ({ tenant }) => (tenant === null ? texts.none : shopName(tenant)) },
          { head: texts.begun, cell: ({ created_at }) => when(context, created_at) },
          { head: texts.used, cell: ({ last_seen_at }) => when(context, last_seen_at) },
          {
            head: t.members.actions,
            cell: (session) =>
              !session.current &&
              actionButton(context, {
                to: `/account/sessions/${session.id}/end`,
                label: texts.end,
                about: device(session),
              }),
          },
        ],
      },
      data.data,
    )
    return view({
      title: texts.title,
      content: html`<p class="prose">${texts.text}</p>
${list}
${paging(context, { query: {}, cursor: query.cursor, next: data.next_cursor })}
<details class="ask"><summary>${texts.endOthersTitle}</summary><p>${texts.endOthersText}</p>${actionButton(context, { to: '/account/sessions/end-others', label: texts.endOthers, style: 'danger' })}</details>
<div class="actions"><a href="/account">${texts.back}</a></div>`,
    })
  },
})

export const endSession = page({
  route: 'POST /account/sessions/{id}/end',
  access: 'session',
  stepUp: 'DELETE /v1/auth/sessions/{id}',
  formAt: '/account/sessions',
  async handle({ params, call }) {
    await unlessGone(call('DELETE /v1/auth/sessions/{id}', { params: { id: params.id } }))
    return redirect('/account/sessions', { notice: 'other-session-ended' })
  },
})

export const endOtherSessions = page({
  route: 'POST /account/sessions/end-others',
  access: 'session',
  stepUp: 'DELETE /v1/auth/sessions',
  formAt: '/account/sessions',
  async handle({ call }) {
    await call('DELETE /v1/auth/sessions')
    return redirect('/account/sessions', { notice: 'other-sessions-ended' })
  },
})
