import { shopPath } from '#web/addresses.ts'
import { isNotice } from '#web/notices.ts'
import { page } from '#web/page.ts'
import { NoticeQuery } from '#web/query.ts'
import { redirect } from '#web/reply.ts'

/** Leads to the start page of the shop, to the choice of one, or to the sign-in. */
export const home = page({
  route: 'GET /',
  access: 'anyone',
  query: NoticeQuery,
  async handle({ query, findSession }) {
    const session = await findSession()
    const notice = isNotice(query.notice) ? query.notice : null
    if (session === null) return redirect('/sign-in', { notice })
    return redirect(session.tenant === null ? '/shops' : shopPath(session.tenant.slug), { notice })
  },
})
