import * as v from 'valibot'
import type { Client } from '#shared/client/client.ts'
import { proofOf } from '#web/http/me.ts'
import { page, type PageContext } from '#web/http/page.ts'
import { NoticeQuery, optional } from '#web/http/query.ts'
import { redirect, type View } from '#web/http/reply.ts'
import { findDraft } from '#web/pages/account/draft.ts'
import { withQuery } from '#web/view/parts.ts'

const BASE = '/account/second-factor'
const APP = `${BASE}/app`

/** Few open these pages, so a start of the function reads neither their markup nor what computes a QR code. */
const views = () => import('#web/pages/account/set-up-views.ts')

export const showApp = page({
  route: `GET ${APP}`,
  access: 'session',
  query: NoticeQuery,
  load: ({ call }) => findDraft(call),
  handle: async (context) =>
    context.data === null
      ? redirect(withQuery(BASE, { next: context.wanted }), { notice: 'draft-expired' })
      : (await views()).appView(context, context.data),
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
  async handle({ form: { code, setup_code }, session, call, takeToken, wanted }) {
    const body = proofOf(session) === 'password' ? { code, setup_code: setup_code ?? '' } : { code }
    takeToken(await call('POST /v1/auth/factors/totp', { body }))
    return redirect(withQuery(BASE, { next: wanted }), { notice: 'app-added' })
  },
  again: (context) => againView(context),
})

/** Mails another setup code. What the app was set up with stays. */
export const sendSetupCode = page({
  route: `POST ${BASE}/setup-code`,
  access: 'session',
  stepUp: 'POST /v1/auth/factors/setup-code',
  formAt: APP,
  async handle({ call, wanted }) {
    await call('POST /v1/auth/factors/setup-code')
    return redirect(withQuery(APP, { next: wanted }), { notice: 'setup-code-sent' })
  },
  again: (context) => againView(context),
})

type Context = PageContext<'session', unknown, unknown, unknown, unknown>

async function againView(context: Context & { readonly call: Client['call'] }): Promise<View> {
  const draft = await findDraft(context.call)
  const { appView, startOverView } = await views()
  return draft === null ? startOverView(context, 'appTitle') : appView(context, draft)
}
