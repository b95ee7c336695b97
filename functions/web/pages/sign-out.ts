import { deleteCookie } from '#web/http/cookies.ts'
import { page } from '#web/http/page.ts'
import { redirect } from '#web/http/reply.ts'

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
