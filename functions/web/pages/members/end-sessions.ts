import { shopPath } from '#web/http/addresses.ts'
import { page } from '#web/http/page.ts'
import { redirect } from '#web/http/reply.ts'
import { unlessGone } from '#web/http/unless-gone.ts'
import { nameOf } from '#web/pages/members/people.ts'

const views = () => import('#web/pages/members/question-views.ts')

export const confirmEndOfSessions = page({
  route: 'GET /s/{slug}/members/{id}/sessions',
  access: { permission: 'member.manage' },
  load: ({ call, params }) => call('GET /v1/members/{id}', { params: { id: params.id } }),
  handle: async (context) => (await views()).endView(context, context.data),
})

export const endMemberSessions = page({
  route: 'POST /s/{slug}/members/{id}/sessions',
  access: { permission: 'member.manage' },
  stepUp: 'DELETE /v1/members/{id}/sessions',
  async handle({ params, call }) {
    const member = await unlessGone(call('DELETE /v1/members/{id}/sessions', { params: { id: params.id } }))
    const about = { who: member === null ? '' : nameOf(member) }
    return redirect(shopPath(params.slug, '/members'), { notice: 'member-sessions-ended', about })
  },
  again: async (context) =>
    (await views()).endView(context, await context.call('GET /v1/members/{id}', { params: { id: context.params.id } })),
})
