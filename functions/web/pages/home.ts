import { shopPath } from '#web/http/addresses.ts'
import { isNotice } from '#web/http/notices.ts'
import { page } from '#web/http/page.ts'
import { NoticeQuery } from '#web/http/query.ts'
import { redirect } from '#web/http/reply.ts'

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
