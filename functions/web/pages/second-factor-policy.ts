import * as v from 'valibot'
import { ProblemError } from '#shared/client/client.ts'
import { SECOND_FACTOR_POLICIES } from '#shared/identity/second-factor-policy.ts'
import { shopPath } from '#web/http/addresses.ts'
import { page } from '#web/http/page.ts'
import { choiceOf, NoticeQuery } from '#web/http/query.ts'
import { FormRefused } from '#web/http/refusal.ts'
import { redirect } from '#web/http/reply.ts'
import { GRACE_DAYS } from '#web/pages/grace-days.ts'

const views = () => import('#web/pages/policy-views.ts')

export const showPolicy = page({
  route: 'GET /s/{slug}/settings/second-factor',
  access: { permission: 'company.write' },
  query: NoticeQuery,
  load: ({ call }) => call('GET /v1/tenant'),
  handle: async (context) => (await views()).policyView(context, context.data),
})

export const changePolicy = page({
  route: 'POST /s/{slug}/settings/second-factor',
  access: { permission: 'company.write' },
  stepUp: 'PUT /v1/tenant/second-factor-policy',
  form: v.object({ require: choiceOf(SECOND_FACTOR_POLICIES), grace_days: choiceOf(GRACE_DAYS) }),
  async handle({ params, form, call, language }) {
    const body = { require: form.require, grace_days: Number(form.grace_days) }
    await call('PUT /v1/tenant/second-factor-policy', { body }).catch(async (error: unknown) => {
      if (!(error instanceof ProblemError) || error.kind !== 'second-factor-required') throw error
      throw new FormRefused({ field: 'require', message: (await views()).notDone(language) })
    })
    return redirect(shopPath(params.slug, '/settings/second-factor'), { notice: 'factor-policy-saved' })
  },
  again: async (context) => (await views()).policyView(context, await context.call('GET /v1/tenant')),
})
