import { shopName } from '#shared/identity/shop-name.ts'
import type { ReplyOf } from '#shared/client/client.ts'
import { type Content, type Html, html } from '#web/http/html.ts'
import { type View, view } from '#web/http/reply.ts'
import { deviceKind, deviceName } from '#web/pages/account/device.ts'
import { sessionsPage } from '#web/texts/sessions-page.ts'
import { actionButton } from '#web/view/form.ts'
import { badge, paging, table } from '#web/view/parts.ts'
import { when } from '#web/view/time.ts'
import type { Ui } from '#web/view/ui.ts'

type Sessions = ReplyOf<'GET /v1/auth/sessions'>
type Session = Sessions['data'][number]

/** The sessions of one page of the list whose browser and system have the same names. */
interface Device {
  readonly sessions: readonly Session[]
  /** The one that was used last. */
  readonly last: Session
}

export function sessionsView(ui: Ui, sessions: Sessions, cursor: string | null): View {
  const texts = sessionsPage[ui.language]
  return view({
    title: texts.title,
    content: html`<p class="prose">${texts.text}</p>
${deviceTable(ui, sessions.data)}
${paging(ui, { query: {}, cursor, next: sessions.next_cursor })}
<details class="ask"><summary>${texts.endOthersTitle}</summary><p>${texts.endOthersText}</p>${actionButton(ui, { to: '/account/sessions/end-others', label: texts.endOthers, style: 'danger' })}</details>
<div class="actions"><a href="/account">${texts.back}</a></div>`,
  })
}

/** A row for each device, which opens its sessions. This session has a row of its own. */
function deviceTable(ui: Ui, sessions: readonly Session[]): Html {
  const texts = sessionsPage[ui.language]
  const { members } = ui.t
  const name = ({ user_agent }: Session) => deviceName(user_agent, texts)
  const shopOf = ({ tenant }: Session) => (tenant === null ? texts.none : shopName(tenant))
  const devices = Map.groupBy(sessions, (session) => (session.current ? session.id : name(session)))
  const used = { head: texts.used, cell: ({ last_seen_at }: Session) => when(ui, last_seen_at) }
  const begun = { head: texts.begun, cell: ({ created_at }: Session) => when(ui, created_at) }
  const end = {
    head: members.actions,
    cell: (session: Session) =>
      !session.current &&
      actionButton(ui, { to: `/account/sessions/${session.id}/end`, label: texts.end, about: name(session) }),
  }
  const ofOne = (of: (session: Session) => Content) => (row: Device) =>
    row.sessions.length === 1 ? of(row.last) : null
  return table<Device>(
    {
      caption: texts.caption,
      columns: [
        {
          head: texts.device,
          cell: ({ last }) =>
            html`${name(last)} ${last.current && badge(texts.current, 'good')} <span class="quiet">${deviceKind(last.user_agent, texts)}</span>`,
        },
        { head: texts.shop, cell: ({ sessions: all }) => [...new Set(all.map(shopOf))].join(', ') },
        { head: texts.begun, cell: ofOne(begun.cell) },
        { head: texts.used, cell: ({ last }) => used.cell(last) },
        { head: members.actions, cell: ofOne(end.cell) },
      ],
      below: ({ sessions: all, last }) =>
        all.length === 1
          ? null
          : html`<details><summary>${texts.count(all.length)}<span class="unseen"> ${name(last)}</span></summary>
${table<Session>({ caption: name(last), columns: [{ head: texts.shop, cell: shopOf }, begun, used, end] }, all)}</details>`,
    },
    [...devices.values()].map((all) => ({
      sessions: all,
      last: all.reduce((a, b) => (Date.parse(b.last_seen_at) > Date.parse(a.last_seen_at) ? b : a)),
    })),
  )
}
