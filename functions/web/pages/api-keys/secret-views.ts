import { holds } from '#shared/identity/permissions.ts'
import { html } from '#web/http/html.ts'
import type { ShopUi } from '#web/http/page.ts'
import { type View, view } from '#web/http/reply.ts'
import {
  type ApiKey,
  DEFAULT_LIFETIME_DAYS,
  DEFAULT_OVERLAP,
  KEY_PERMISSIONS,
  keysPath,
  LIFETIMES_DAYS,
  MAY_PREFIX,
  OVERLAPS_SECONDS,
  secretOf,
  type ShownKey,
} from '#web/pages/api-keys/key.ts'
import { keyPages } from '#web/texts/key-pages.ts'
import { checkboxes, type Option, select } from '#web/view/choices.ts'
import { field, form } from '#web/view/form.ts'
import { when } from '#web/view/time.ts'

/** What a page knows that lets people choose how long a key lives. */
type LifeUi = ShopUi & { readonly keyMaxDays: number }

export function newKeyView(ui: LifeUi): View {
  const t = keyPages[ui.language]
  const back = keysPath(ui.session.tenant.slug)
  const mayGive = KEY_PERMISSIONS.filter((permission) => holds(ui.session.permissions, permission))
  return view({
    title: t.newTitle,
    content:
      mayGive.length === 0
        ? html`<p class="prose">${t.nothingToGive}</p>`
        : form(ui, {
            to: back,
            fields: [
              field(ui, { name: 'name', label: t.name, hint: t.nameHint, autocomplete: 'off' }),
              checkboxes(ui, {
                legend: t.permissions,
                hint: t.permissionsHint,
                name: 'permissions',
                prefix: MAY_PREFIX,
                options: mayGive.map((value) => ({ value, label: ui.t.roles.permissions[value] })),
              }),
              select(ui, {
                name: 'days',
                label: t.life,
                hint: t.lifeHint,
                value: lifetimes(ui, DEFAULT_LIFETIME_DAYS).at(-1)?.value ?? '',
                options: lifetimes(ui),
              }),
            ],
            submit: t.create,
            back,
          }),
  })
}

/** The lifetimes of at most so many days. */
const lifetimes = ({ language, keyMaxDays }: LifeUi, mostDays = keyMaxDays): Option[] =>
  LIFETIMES_DAYS.filter((days) => days <= Math.min(mostDays, keyMaxDays)).map((days) => ({
    value: String(days),
    label: keyPages[language].after(days),
  }))

export function rotationView(ui: LifeUi, key: ApiKey): View {
  const t = keyPages[ui.language]
  const back = keysPath(ui.session.tenant.slug)
  return view({
    title: t.rotateTitle(key.name),
    content: html`<p class="prose">${t.rotateText}</p>
<dl><dt>${t.expires}</dt><dd>${when(ui, key.expires_at)}</dd></dl>
${form(ui, {
  to: `${back}/${key.id}/rotate`,
  hidden: { replaces: secretOf(key) },
  fields: [
    select(ui, {
      name: 'overlap',
      label: t.overlap,
      value: DEFAULT_OVERLAP,
      options: OVERLAPS_SECONDS.map((seconds) => ({ value: String(seconds), label: t.overlaps[seconds] })),
    }),
    select(ui, {
      name: 'days',
      label: t.life,
      value: '',
      options: [{ value: '', label: t.asNow }, ...lifetimes(ui)],
    }),
  ],
  submit: t.rotateConfirm,
  back,
})}`,
  })
}

/** The only page that shows a secret: the response to the form that made it. */
export function secretView(ui: ShopUi, { name, key, previous_expires_at: previous, expires_at }: ShownKey): View {
  const t = keyPages[ui.language]
  return view({
    title: t.shownTitle(name),
    content: html`<p class="prose"><strong>${t.copyNow}</strong></p>
<dl><dt>${t.secret}</dt><dd><code class="key whole">${key}</code></dd><dt>${t.expires}</dt><dd>${when(ui, expires_at)}</dd>${previous !== null && html`<dt>${t.previousShown}</dt><dd>${when(ui, previous)}</dd>`}</dl>
<p class="prose">${t.store}</p>
<p class="prose">${t.send} <code>Authorization: Bearer …</code></p>
<p class="prose">${t.check} <code>GET /v1/api-keys/current</code></p>
<p><a class="button" href="${keysPath(ui.session.tenant.slug)}">${t.done}</a></p>`,
  })
}
