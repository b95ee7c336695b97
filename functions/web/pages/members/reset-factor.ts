import { shopPath } from '#web/http/addresses.ts'
import { page } from '#web/http/page.ts'
import { redirect } from '#web/http/reply.ts'
import { unlessGone } from '#web/http/unless-gone.ts'
import { nameOf } from '#web/pages/members/people.ts'

/** Few open these pages, so a start of the function reads neither their markup nor their texts. */
const views = () => import('#web/pages/factor-reset-views.ts')

export const confirmFactorReset = page({
  route: 'GET /s/{slug}/members/{id}/factor-reset',
  access: { permission: 'member.manage' },
  load: ({ call, params }) => call('GET /v1/members/{id}', { params: { id: params.id } }),
  handle: async (context) => (await views()).resetView(context, context.data),
})

export const requestFactorReset = page({
  route: 'POST /s/{slug}/members/{id}/factor-reset',
  access: { permission: 'member.manage' },
  stepUp: 'POST /v1/members/{id}/factor-reset',
  async handle({ params, call }) {
    const member = await unlessGone(call('POST /v1/members/{id}/factor-reset', { params: { id: params.id } }))
    const notice = member === null ? 'no-factor-to-reset' : 'factor-reset-requested'
    return redirect(shopPath(params.slug, '/members'), {
      notice,
      about: { who: member === null ? '' : nameOf(member) },
    })
  },
  again: async (context) =>
    (await views()).resetView(
      context,
      await context.call('GET /v1/members/{id}', { params: { id: context.params.id } }),
    ),
})
