import * as v from 'valibot'
import { deleteCookie } from '#web/http/cookies.ts'
import { page } from '#web/http/page.ts'
import { optional } from '#web/http/query.ts'
import { redirect, view } from '#web/http/reply.ts'
import { actionButton } from '#web/view/form.ts'

/** Ends the session. From the page of somebody else's link, it leads back to that link; else it deletes every cookie but the language. */
export const signOut = page({
  route: 'POST /sign-out',
  access: 'session',
  formAt: '/',
  form: v.object({ continue: optional, named: optional }),
  async handle({ form, call, firstLink }) {
    await call('DELETE /v1/auth/session')
    const link = form.continue === null ? null : firstLink(form.continue, form.named ?? '')
    const session = (['session', 'csrf', 'signIn'] as const).map(deleteCookie)
    const headers = { 'clear-site-data': '"cache"' }
    if (form.continue !== null && link !== null)
      return redirect(form.continue, { cookies: [...session, link], headers })
    const cookies = [...session, ...(['form', 'link', 'typed'] as const).map(deleteCookie)]
    return redirect('/sign-in', { notice: 'signed-out', cookies, headers })
  },
  again: async (context) =>
    view({
      title: context.t.common.signOut,
      content: actionButton(context, { to: '/sign-out', label: context.t.common.signOut, style: 'main' }),
    }),
})
