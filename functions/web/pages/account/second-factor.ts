import * as v from 'valibot'
import { notFound } from '#shared/base/problem.ts'
import type { ReplyOf } from '#shared/client/client.ts'
import { shopName } from '#shared/identity/shop-name.ts'
import { type Html, html } from '#web/http/html.ts'
import { page, type PageContext } from '#web/http/page.ts'
import { NoticeQuery, optional } from '#web/http/query.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { unlessGone } from '#web/http/unless-gone.ts'
import { field, form } from '#web/view/form.ts'
import { badge, confirmation, table } from '#web/view/parts.ts'
import { absolute, when } from '#web/view/time.ts'
import type { Ui } from '#web/view/ui.ts'

type Factors = ReplyOf<'GET /v1/auth/factors'>
type Factor = Factors['data'][number]
type Context<Data = undefined> = PageContext<'session', unknown, unknown, unknown, Data>

const BASE = '/account/second-factor'
/** From so few recovery codes on, the page says that new ones are due. */
const FEW_CODES = 3

/** An app keeps this name until its owner gives it another. */
const nameOf = ({ t }: Ui, { name }: Factor): string => (name === 'Authenticator app' ? t.secondFactor.app : name)

export const showFactors = page({
  route: `GET ${BASE}`,
  access: 'session',
  query: v.object({ ...NoticeQuery.entries, next: optional }),
  load: ({ call }) => call('GET /v1/auth/factors'),
  handle: async (context) => factorsView(context, context.data, context.query.next),
})

/** Mails the setup code that a first factor needs, and makes what an app is set up with. */
export const startApp = page({
  route: `POST ${BASE}/start`,
  access: 'session',
  stepUp: 'POST /v1/auth/factors/draft',
  formAt: BASE,
  form: v.object({}),
  async handle({ call }) {
    await call('POST /v1/auth/factors/setup-code')
    await call('POST /v1/auth/factors/draft', { body: {} })
    return redirect(`${BASE}/app`)
  },
})

export const askName = page({
  route: `GET ${BASE}/{id}/name`,
  access: 'session',
  load: ({ call }) => call('GET /v1/auth/factors'),
  handle: async (context) => nameView(context, ownFactor(context.data, context.params.id)),
})

export const renameFactor = page({
  route: `POST ${BASE}/{id}/name`,
  access: 'session',
  form: v.object({ name: v.string() }),
  async handle({ params, form, call }) {
    await call('PATCH /v1/auth/factors/{id}', { params: { id: params.id }, body: { name: form.name } })
    return redirect(BASE, { notice: 'app-renamed' })
  },
  again: async (context) => nameView(context, ownFactor(await context.call('GET /v1/auth/factors'), context.params.id)),
})

export const confirmFactorRemoval = page({
  route: `GET ${BASE}/{id}/remove`,
  access: 'session',
  load: ({ call }) => call('GET /v1/auth/factors'),
  handle: async (context) => removalView(context, ownFactor(context.data, context.params.id)),
})

export const removeFactor = page({
  route: `POST ${BASE}/{id}/remove`,
  access: 'session',
  stepUp: 'DELETE /v1/auth/factors/{id}',
  async handle({ params, call }) {
    await unlessGone(call('DELETE /v1/auth/factors/{id}', { params: { id: params.id } }))
    return redirect(BASE, { notice: 'app-removed' })
  },
})

function ownFactor({ data }: Factors, id: string): Factor {
  const factor = data.find((each) => each.id === id)
  if (factor === undefined) throw notFound('the person has no factor with this id')
  return factor
}

function factorsView(
  context: Context<Factors>,
  { data, recovery_codes: codes, required_by: shops }: Factors,
  next: string | null,
): View {
  const { secondFactor: t } = context.t
  const [isOn, address] = [data.length > 0, context.ownAddress(next ?? '')]
  const start = (submit: string) => form(context, { to: `${BASE}/start`, fields: null, submit })
  return view({
    title: t.title,
    content: html`${codes !== null && html`<p>${badge(t.codesLeft(codes.left), codes.left > FEW_CODES ? 'plain' : 'warn')} ${codes.left <= FEW_CODES && t.codesLow}</p>`}
${address !== null && html`<p><a class="button" href="${address}">${t.goOn}</a></p>`}
<p class="prose">${t.why}</p>
${isOn ? apps(context, data) : html`<p class="prose">${t.apps}</p>${start(t.setUp)}`}
${
  isOn &&
  html`<h2>${t.newPhone}</h2><p class="prose">${t.newPhoneText}</p>${start(t.setUpNew)}
<h2>${t.codes}</h2><p><a href="${BASE}/recovery-codes">${t.newCodes}</a></p>`
}
${shops.length > 0 && html`<h2>${t.requiredBy}</h2><ul>${shops.map(({ tenant, from }) => html`<li>${t.requiredFrom(shopName(tenant), absolute(context, from))}</li>`)}</ul>`}
<div class="actions"><a href="/account">${context.t.sessions.back}</a></div>`,
  })
}

function apps(ui: Ui, data: readonly Factor[]): Html {
  const { secondFactor: t, members, sessions } = ui.t
  return table<Factor>(
    {
      caption: t.caption,
      columns: [
        { head: t.name, cell: (factor) => nameOf(ui, factor) },
        { head: t.added, cell: ({ created_at }) => when(ui, created_at) },
        { head: t.lastUsed, cell: ({ last_used_at: at }) => (at === null ? sessions.none : when(ui, at)) },
        {
          head: members.actions,
          cell: (factor) =>
            html`<div class="actions">${(
              [
                ['name', t.rename],
                ['remove', t.remove],
              ] as const
            ).map(
              ([to, label]) =>
                html`<a href="${BASE}/${factor.id}/${to}">${label}<span class="unseen"> ${nameOf(ui, factor)}</span></a> `,
            )}</div>`,
        },
      ],
    },
    data,
  )
}

function nameView(ui: Ui, factor: Factor): View {
  const { secondFactor: t } = ui.t
  const name = nameOf(ui, factor)
  return view({
    title: t.renameTitle(name),
    content: form(ui, {
      to: `${BASE}/${factor.id}/name`,
      fields: field(ui, { name: 'name', label: t.name, value: name, autocomplete: 'off' }),
      submit: t.saveName,
      back: BASE,
    }),
  })
}

function removalView(ui: Ui, factor: Factor): View {
  const { secondFactor: t } = ui.t
  return view({
    title: t.removeTitle(nameOf(ui, factor)),
    content: confirmation(ui, {
      text: html`<p>${t.removeText}</p>`,
      to: `${BASE}/${factor.id}/remove`,
      label: t.removeConfirm,
      back: BASE,
    }),
  })
}
