import * as v from 'valibot'
import type { Client } from '#shared/client/client.ts'
import { proofOf } from '#web/http/me.ts'
import { page, type PageContext } from '#web/http/page.ts'
import { registrationOf } from '#web/http/passkey.ts'
import { NoticeQuery, optional } from '#web/http/query.ts'
import { type PageReply, redirect } from '#web/http/reply.ts'
import { expectShown, findDraft } from '#web/pages/account/draft.ts'
import { withQuery } from '#web/view/parts.ts'

const BASE = '/account/second-factor'
const PASSKEY = `${BASE}/passkey`

export const showPasskey = page({
  route: `GET ${PASSKEY}`,
  access: 'session',
  query: NoticeQuery,
  load: ({ call }) => load(call),
  async handle(context) {
    const { proofFor, session, wanted, data } = context
    // The form makes a passkey, and takes none as a proof.
    return proofOf(session) === 'code' && proofFor(PASSKEY) !== null
      ? redirect(withQuery('/account/confirm', { next: withQuery(PASSKEY, { next: wanted }) }))
      : setUp(context, data)
  },
})

/** Asks for a proof of presence. For a first factor, mails the setup code that it needs, and makes the recovery codes. */
export const startPasskey = page({
  route: `POST ${PASSKEY}/start`,
  access: 'session',
  stepUp: 'POST /v1/auth/factors/draft',
  formAt: BASE,
  form: v.object({}),
  async handle({ call, session, wanted }) {
    if (proofOf(session) === 'code') await call('POST /v1/auth/factors/passkey-options')
    else {
      await call('POST /v1/auth/factors/setup-code')
      await call('POST /v1/auth/factors/draft', { body: {} })
    }
    return redirect(withQuery(PASSKEY, { next: wanted }))
  },
})

export const addPasskey = page({
  route: `POST ${PASSKEY}`,
  access: 'session',
  stepUp: 'POST /v1/auth/factors/passkey',
  form: v.object({ name: v.string(), credential: v.string(), setup_code: optional, draft: optional }),
  ownTexts: ({ secondFactor: t }) => ({
    setup_code: { 'wrong-format': t.setupFormat, 'wrong-code': t.wrongSetupCode },
  }),
  async handle({ form: { name, setup_code, ...form }, session, call, takeToken, wanted, t }) {
    const credential = registrationOf(form.credential, t)
    const isFirst = proofOf(session) === 'password'
    if (isFirst) await expectShown(call, form.draft, t)
    const body = { name, credential, ...(isFirst ? { setup_code: setup_code ?? '' } : {}) }
    takeToken(await call('POST /v1/auth/factors/passkey', { body }))
    return redirect(withQuery(BASE, { next: wanted }), { notice: 'passkey-added' })
  },
  again: async (context) => setUp(context, await load(context.call)),
})

/** Mails another setup code. What the passkey is set up with stays. */
export const sendPasskeySetupCode = page({
  route: `POST ${PASSKEY}/setup-code`,
  access: 'session',
  stepUp: 'POST /v1/auth/factors/setup-code',
  formAt: PASSKEY,
  async handle({ call, wanted }) {
    await call('POST /v1/auth/factors/setup-code')
    return redirect(withQuery(PASSKEY, { next: wanted }), { notice: 'setup-code-sent' })
  },
  again: async (context) => setUp(context, await load(context.call)),
})

type Loaded = Awaited<ReturnType<typeof load>>

/** What a passkey is made with, and the recovery codes that come with a first factor. */
async function load(call: Client['call']) {
  const [{ options }, draft] = await Promise.all([call('POST /v1/auth/factors/passkey-options'), findDraft(call)])
  return { options, draft }
}

async function setUp(
  context: PageContext<'session', unknown, unknown, unknown, unknown>,
  { options, draft }: Loaded,
): Promise<PageReply> {
  const isFirst = proofOf(context.session) === 'password'
  if (isFirst && (draft?.recovery_codes ?? null) === null)
    return context.refusal === null
      ? redirect(withQuery(BASE, { next: context.wanted }), { notice: 'draft-expired' })
      : (await import('#web/pages/account/set-up-views.ts')).startOverView(context, 'passkeyTitle')
  const { passkeyView } = await import('#web/pages/account/passkey-view.ts')
  return passkeyView(context, options, isFirst ? draft : null)
}
