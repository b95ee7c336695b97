import { deleteCookie } from '#web/cookies.ts'
import { page } from '#web/page.ts'
import { redirect } from '#web/reply.ts'

export const signOut = page({
  route: 'POST /sign-out',
  access: 'session',
  async handle({ call }) {
    await call('DELETE /v1/auth/session')
    return redirect('/sign-in', {
      notice: 'signed-out',
      cookies: [deleteCookie('session'), deleteCookie('csrf')],
      headers: { 'clear-site-data': '"cache", "cookies"' },
    })
  },
})
