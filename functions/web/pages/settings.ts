import * as v from 'valibot'
import { ProblemError, type ReplyOf } from '#shared/client/client.ts'
import { shopPath } from '#web/http/addresses.ts'
import { page } from '#web/http/page.ts'
import { NoticeQuery } from '#web/http/query.ts'
import { redirect } from '#web/http/reply.ts'

/** Few open this page, so a start of the function does not read its markup. */
const views = () => import('#web/pages/settings-views.ts')

export interface Shop {
  readonly body: ReplyOf<'GET /v1/tenant'>
  readonly etag: string
}

export const showSettings = page({
  route: 'GET /s/{slug}/settings',
  access: { permission: 'company.write' },
  navigation: 'settings',
  query: NoticeQuery,
  load: ({ callWithEtag }) => callWithEtag('GET /v1/tenant'),
  handle: async (context) => (await views()).settingsView(context, context.data),
})

/** The ETag of the form says which settings the person saw: a change of somebody else in between is not overwritten. */
export const changeSettings = page({
  route: 'POST /s/{slug}/settings',
  access: { permission: 'company.write' },
  form: v.object({ legal_name: v.string(), timezone: v.string(), currency: v.string(), etag: v.string() }),
  fieldOf: { 'currency-in-use': 'currency' },
  async handle({ params, form, call }) {
    const { etag, ...body } = form
    try {
      await call('PATCH /v1/tenant', { body, ifMatch: etag })
    } catch (error) {
      if (!(error instanceof ProblemError) || error.kind !== 'precondition-failed') throw error
      // A second press finds what the first has saved.
      const saved: Readonly<Record<string, unknown>> = await call('GET /v1/tenant')
      if (Object.entries(body).some(([name, value]) => saved[name] !== value)) throw error
    }
    return redirect(shopPath(params.slug, '/settings'), { notice: 'settings-saved' })
  },
  again: async (context) => (await views()).settingsView(context, await context.callWithEtag('GET /v1/tenant')),
})
