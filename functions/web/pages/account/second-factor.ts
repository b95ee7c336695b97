import * as v from 'valibot'
import { notFound } from '#shared/base/problem.ts'
import type { ReplyOf } from '#shared/client/client.ts'
import { page } from '#web/http/page.ts'
import { NoticeQuery, optional } from '#web/http/query.ts'
import { redirect } from '#web/http/reply.ts'
import { unlessGone } from '#web/http/unless-gone.ts'
import { withQuery } from '#web/view/parts.ts'

type Factors = ReplyOf<'GET /v1/auth/factors'>

const BASE = '/account/second-factor'
/** Few open these pages, so a start of the function reads neither their markup nor their texts. */
const views = () => import('#web/pages/account/factor-views.ts')

export const showFactors = page({
  route: `GET ${BASE}`,
  access: 'session',
  query: NoticeQuery,
  load: ({ call }) => call('GET /v1/auth/factors'),
  handle: async (context) => (await views()).factorsView(context, context.data),
})

/** Mails the setup code that a first factor needs, and makes what an app is set up with. */
export const startApp = page({
  route: `POST ${BASE}/start`,
  access: 'session',
  stepUp: 'POST /v1/auth/factors/draft',
  formAt: BASE,
  form: v.object({}),
  async handle({ call, wanted }) {
    await call('POST /v1/auth/factors/setup-code')
    await call('POST /v1/auth/factors/draft', { body: {} })
    return redirect(withQuery(`${BASE}/app`, { next: wanted }))
  },
})

export const askName = page({
  route: `GET ${BASE}/{id}/name`,
  access: 'session',
  load: ({ call }) => call('GET /v1/auth/factors'),
  handle: async (context) => (await views()).nameView(context, ownFactor(context.data, context.params.id)),
})

export const renameFactor = page({
  route: `POST ${BASE}/{id}/name`,
  access: 'session',
  form: v.object({ name: v.string() }),
  async handle({ params, form, call }) {
    await call('PATCH /v1/auth/factors/{id}', { params: { id: params.id }, body: { name: form.name } })
    return redirect(BASE, { notice: 'app-renamed' })
  },
  again: async (context) =>
    (await views()).nameView(context, ownFactor(await context.call('GET /v1/auth/factors'), context.params.id)),
})

export const confirmFactorRemoval = page({
  route: `GET ${BASE}/{id}/remove`,
  access: 'session',
  load: ({ call }) => call('GET /v1/auth/factors'),
  handle: async (context) =>
    (await views()).removalView(context, ownFactor(context.data, context.params.id), context.data.data.length === 1),
})

export const removeFactor = page({
  route: `POST ${BASE}/{id}/remove`,
  access: 'session',
  stepUp: 'DELETE /v1/auth/factors/{id}',
  form: v.object({ kind: optional }),
  async handle({ params, form, call }) {
    await unlessGone(call('DELETE /v1/auth/factors/{id}', { params: { id: params.id } }))
    return redirect(BASE, { notice: form.kind === 'passkey' ? 'passkey-removed' : 'app-removed' })
  },
})

function ownFactor({ data }: Factors, id: string): Factors['data'][number] {
  const factor = data.find((each) => each.id === id)
  if (factor === undefined) throw notFound('the person has no factor with this id')
  return factor
}
