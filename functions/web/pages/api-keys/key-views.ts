import { shownEmail } from '#shared/schema/shown-email.ts'
import type { ReplyOf } from '#shared/client/client.ts'
import { API_KEY_STATUSES, type ApiKeyStatus } from '#shared/identity/api-key-status.ts'
import { type Html, html } from '#web/http/html.ts'
import type { ShopUi } from '#web/http/page.ts'
import { type View, view } from '#web/http/reply.ts'
import { type ApiKey, keysPath } from '#web/pages/api-keys/key.ts'
import { permissionsOf } from '#web/pages/members/permitted.ts'
import { keyPages } from '#web/texts/key-pages.ts'
import { filters } from '#web/view/filters.ts'
import { field, form } from '#web/view/form.ts'
import { badge, confirmation, empty, paging, table } from '#web/view/parts.ts'
import { when } from '#web/view/time.ts'

/** From so many days before its expiry on, the list warns of a key. */
const SOON_MS = 14 * 86_400_000

const TONES = { live: 'good', expired: 'warn', revoked: 'plain' } as const

export function listView(
  ui: ShopUi,
  keys: ReplyOf<'GET /v1/api-keys'>,
  { status, cursor }: { readonly status: ApiKeyStatus; readonly cursor: string | null },
): View {
  const t = keyPages[ui.language]
  const base = keysPath(ui.session.tenant.slug)
  return view({
    title: t.title,
    content: html`<p class="prose">${t.text}</p>
<p><a class="button" href="${base}/new">${t.newTitle}</a></p>
${filters(ui, t.filters, [
  {
    name: 'status',
    label: t.state,
    value: status,
    options: API_KEY_STATUSES.map((value) => ({ value, label: t.states[value] })),
  },
])}
${keys.data.length === 0 ? empty(t.noneTitle, html`<p>${t.none}</p>`) : keyTable(ui, keys.data)}
${paging(ui, { query: { status }, cursor, next: keys.next_cursor })}`,
  })
}

function keyTable(ui: ShopUi, keys: readonly ApiKey[]): Html {
  const t = keyPages[ui.language]
  return table<ApiKey>(
    {
      caption: t.caption,
      columns: [
        { head: t.key, cell: ({ name, hint }) => html`${name} <span class="quiet">…${hint}</span>` },
        { head: t.may, cell: ({ permissions }) => permissionsOf(ui.t.roles, permissions) },
        {
          head: t.createdBy,
          cell: ({ created_by: by, created_at }) =>
            html`${by === null ? t.former : (by.full_name ?? shownEmail(by.email))} <span class="quiet">${when(ui, created_at)}</span>`,
        },
        { head: t.lastUsed, cell: ({ last_used_at: at }) => (at === null ? t.never : when(ui, at)) },
        {
          head: t.expires,
          cell: (key) => html`${when(ui, key.expires_at)} ${isSoon(key) && badge(t.soon, 'warn')}`,
        },
        {
          head: t.state,
          cell: ({ status, previous_expires_at: until }) =>
            html`${badge(t.states[status], TONES[status])}${until !== null && html` <span class="quiet">${t.previousUntil} ${when(ui, until)}</span>`}`,
        },
        { head: ui.t.members.actions, cell: (key) => key.status === 'live' && actions(ui, key) },
      ],
    },
    keys,
  )
}

const isSoon = ({ status, expires_at }: ApiKey): boolean =>
  status === 'live' && Date.parse(expires_at) - Date.now() < SOON_MS

function actions(ui: ShopUi, { id, name }: ApiKey): Html {
  const t = keyPages[ui.language]
  const to = (page: string, label: string) =>
    html`<a href="${keysPath(ui.session.tenant.slug, `/${id}/${page}`)}">${label}<span class="unseen"> ${name}</span></a>`
  return html`<div class="actions">${to('name', t.rename)} ${to('rotate', t.rotate)} ${to('revoke', t.revoke)}</div>`
}

export function nameView(ui: ShopUi, { id, name }: ApiKey): View {
  const t = keyPages[ui.language]
  const back = keysPath(ui.session.tenant.slug)
  return view({
    title: t.renameTitle(name),
    content: form(ui, {
      to: `${back}/${id}/name`,
      fields: field(ui, { name: 'name', label: t.name, hint: t.nameHint, value: name, autocomplete: 'off' }),
      submit: t.saveName,
      back,
    }),
  })
}

export function revocationView(ui: ShopUi, { id, name, permissions, last_used_at: used }: ApiKey): View {
  const t = keyPages[ui.language]
  const back = keysPath(ui.session.tenant.slug)
  return view({
    title: t.revokeTitle(name),
    content: confirmation(ui, {
      text: html`<p>${t.revokeText}</p>
<dl><dt>${t.may}</dt><dd>${permissionsOf(ui.t.roles, permissions)}</dd><dt>${t.lastUsed}</dt><dd>${used === null ? t.never : when(ui, used)}</dd></dl>`,
      to: `${back}/${id}/revoke`,
      label: t.revokeConfirm,
      back,
    }),
  })
}
