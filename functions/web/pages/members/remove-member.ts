import type { Client, ReplyOf } from '#shared/client/client.ts'
import { shopPath } from '#web/http/addresses.ts'
import { page } from '#web/http/page.ts'
import { redirect } from '#web/http/reply.ts'
import { unlessGone } from '#web/http/unless-gone.ts'
import { shopLeft } from '#web/pages/members/leave.ts'
import { isOwn, type Member, nameOf } from '#web/pages/members/people.ts'

const views = () => import('#web/pages/members/question-views.ts')

export const confirmRemoval = page({
  route: 'GET /s/{slug}/members/{id}/remove',
  access: { permission: 'member.manage' },
  load: ({ call, params }) => findLeaver(call, params.id),
  handle: async (context) => (await views()).removalView(context, context.data),
})

/** Who removes themself has left the shop, and their sessions in it have ended. */
export const removeMember = page({
  route: 'POST /s/{slug}/members/{id}/remove',
  access: { permission: 'member.manage' },
  stepUp: 'DELETE /v1/members/{id}',
  async handle({ params, call, session }) {
    const removed = await unlessGone(call('DELETE /v1/members/{id}', { params: { id: params.id } }))
    if (removed !== null && isOwn(session, removed)) return shopLeft(session)
    const about = { who: removed === null ? '' : nameOf(removed) }
    return removed !== null && removed.accepted_at === null
      ? redirect(shopPath(params.slug, '/invitations'), { notice: 'invitation-cancelled', about })
      : redirect(shopPath(params.slug, '/members'), { notice: 'member-removed', about })
  },
  again: async (context) => (await views()).removalView(context, await findLeaver(context.call, context.params.id)),
})

export interface Leaver {
  readonly member: Member
  /** The live API keys that they created. Nothing revokes them silently. */
  readonly keys: ReplyOf<'GET /v1/api-keys'>['data']
}

async function findLeaver(call: Client['call'], id: string): Promise<Leaver> {
  const member = await call('GET /v1/members/{id}', { params: { id } })
  const { id: userId } = member.user
  if (userId === null) return { member, keys: [] }
  const { data: keys } = await call('GET /v1/api-keys', { query: { status: 'live', created_by: userId, limit: 100 } })
  return { member, keys }
}
