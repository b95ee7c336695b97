import * as v from 'valibot'
import type { Client } from '#shared/client/client.ts'
import { shownEmail } from '#shared/schema/shown-email.ts'
import { html } from '#web/http/html.ts'
import { proofOf } from '#web/http/me.ts'
import { page, type PageContext } from '#web/http/page.ts'
import { NoticeQuery, optional } from '#web/http/query.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { codeList, type Draft, findDraft } from '#web/pages/account/draft.ts'
import { actionButton, field, form } from '#web/view/form.ts'
import { qrCode } from '#web/view/qr.ts'

const BASE = '/account/second-factor'
const APP = `${BASE}/app`

export const showApp = page({
  route: `GET ${APP}`,
  access: 'session',
  query: NoticeQuery,
  load: ({ call }) => findDraft(call),
  handle: async (context) =>
    context.data === null ? redirect(BASE, { notice: 'draft-expired' }) : appView(context, context.data),
})

/** Adds the app, or replaces the one that the person has. */
export const addApp = page({
  route: `POST ${APP}`,
  access: 'session',
  stepUp: 'POST /v1/auth/factors/totp',
  form: v.object({ code: v.string(), setup_code: optional }),
  secrets: ['code'],
  ownTexts: ({ secondFactor: t }) => ({
    code: { 'wrong-format': t.codeFormat },
    setup_code: { 'wrong-format': t.setupFormat, 'wrong-code': t.wrongSetupCode },
  }),
  async handle({ form: { code, setup_code }, session, call, takeToken }) {
    const isFirst = proofOf(session) === 'password'
    const body = isFirst ? { code, setup_code: setup_code ?? '' } : { code }
    takeToken(await call('POST /v1/auth/factors/totp', { body }))
    return redirect(BASE, { notice: isFirst ? 'app-added' : 'app-replaced' })
  },
  again: (context) => againView(context),
})

/** Mails another setup code. What the app was set up with stays. */
export const sendSetupCode = page({
  route: `POST ${BASE}/setup-code`,
  access: 'session',
  stepUp: 'POST /v1/auth/factors/setup-code',
  formAt: APP,
  async handle({ call }) {
    await call('POST /v1/auth/factors/setup-code')
    return redirect(APP, { notice: 'setup-code-sent' })
  },
  again: (context) => againView(context),
})

type Context = PageContext<'session', unknown, unknown, unknown, unknown>

async function againView(context: Context & { readonly call: Client['call'] }): Promise<View> {
  const draft = await findDraft(context.call)
  if (draft !== null) return appView(context, draft)
  const { secondFactor: t } = context.t
  return view({
    title: t.appTitle,
    content: html`<p class="prose">${t.notices['draft-expired']}</p><p><a href="${BASE}">${t.title}</a></p>`,
  })
}

function appView(context: Context, { secret, uri, recovery_codes: codes }: Draft): View {
  const { secondFactor: t } = context.t
  const { session } = context
  const isFirst = proofOf(session) === 'password'
  let steps = 0
  const heading = (text: string) => html`<h2>${t.step((steps += 1), text)}</h2>`
  return view({
    title: t.appTitle,
    content: html`<p class="prose">${isFirst ? t.appText : t.newPhoneText}</p>
${codes !== null && html`${heading(t.save)}<p class="prose">${t.saveText}</p>${codeList(codes)}`}
${heading(t.scan)}
<p class="prose">${t.scanText}</p>
${qrCode(uri, t.qr)}
<p><a href="${uri}">${t.onPhone}</a></p>
<p class="prose">${t.typeKey} <code class="key">${(secret.match(/.{1,4}/g) ?? []).join(' ')}</code></p>
${heading(t.enter)}
${form(context, {
  to: APP,
  fields: [
    field(context, { name: 'code', label: t.code, hint: t.codeHint, autocomplete: 'one-time-code' }),
    isFirst &&
      field(context, {
        name: 'setup_code',
        label: t.setupCode,
        hint: t.setupHint(shownEmail(session.user.email)),
        autocomplete: 'off',
      }),
  ],
  submit: t.finish,
  back: BASE,
})}
${isFirst && actionButton(context, { to: `${BASE}/setup-code`, label: t.sendAgain })}`,
  })
}
