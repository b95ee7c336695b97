import * as v from 'valibot'
import { page } from '#web/http/page.ts'
import { NoticeQuery, optional, present } from '#web/http/query.ts'
import { redirect } from '#web/http/reply.ts'
import { unlessGone } from '#web/http/unless-gone.ts'

/** Few open this page, so a start of the function reads neither its markup nor its texts. */
const views = () => import('#web/pages/account/sessions-view.ts')

export const listSessions = page({
  route: 'GET /account/sessions',
  access: 'session',
  query: v.object({ ...NoticeQuery.entries, cursor: optional }),
  load: ({ call, query }) => call('GET /v1/auth/sessions', { query: present({ cursor: query.cursor }) }),
  handle: async (context) => (await views()).sessionsView(context, context.data, context.query.cursor),
})

export const endSession = page({
  route: 'POST /account/sessions/{id}/end',
  access: 'session',
  stepUp: 'DELETE /v1/auth/sessions/{id}',
  formAt: '/account/sessions',
  async handle({ params, call }) {
    await unlessGone(call('DELETE /v1/auth/sessions/{id}', { params: { id: params.id } }))
    return redirect('/account/sessions', { notice: 'other-session-ended' })
  },
})

export const endOtherSessions = page({
  route: 'POST /account/sessions/end-others',
  access: 'session',
  stepUp: 'DELETE /v1/auth/sessions',
  formAt: '/account/sessions',
  async handle({ call }) {
    await call('DELETE /v1/auth/sessions')
    return redirect('/account/sessions', { notice: 'other-sessions-ended' })
  },
})
