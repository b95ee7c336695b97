import * as v from 'valibot'
import { closedLink, isInvalidLink, openLink } from '#web/http/link.ts'
import { type LinkContext, page } from '#web/http/page.ts'
import { optional } from '#web/http/query.ts'
import { redirect, type View } from '#web/http/reply.ts'

/** Few open this page, so a start of the function reads neither its markup nor its texts. */
const views = () => import('#web/pages/factor-reset-views.ts')

export const showCancelReset = page({
  route: 'GET /cancel-reset',
  access: 'link',
  handle: (context) => cancellation(context),
})

/** Cancels the reset that the link is of. A link whose reset was cancelled before changes nothing. */
export const cancelReset = page({
  route: 'POST /cancel-reset',
  access: 'link',
  form: v.object({ username: optional }),
  async handle(context) {
    const { link, call, findSession, useLink } = context
    const opened = await openCancellation(context)
    if (link === null || opened.is === 'missing' || opened.is === 'of somebody else') return cancellation(context)
    try {
      await call('POST /v1/auth/factor-resets/cancel', { body: { token: link } })
    } catch (error) {
      if (isInvalidLink(error)) return cancellation(context)
      throw error
    }
    return redirect((await findSession()) === null ? '/sign-in' : '/', {
      notice: 'reset-cancelled',
      cookies: [useLink()],
    })
  },
  again: (context) => cancellation(context),
})

const openCancellation = (context: LinkContext) =>
  openLink(context, (token) => context.call('POST /v1/auth/factor-resets/inspect', { body: { token } }))

async function cancellation(context: LinkContext): Promise<View> {
  const [opened, { cancelView, nothingToCancel }] = await Promise.all([openCancellation(context), views()])
  return opened.is === 'open'
    ? cancelView(context, opened.account.email)
    : closedLink(context, opened, { to: '/cancel-reset', way: nothingToCancel(context) })
}
