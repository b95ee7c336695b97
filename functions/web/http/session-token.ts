import { setCookie } from '#web/http/cookies.ts'
import type { SignedIn } from '#web/http/me.ts'
import { forgetOpenSignIn } from '#web/http/open-sign-in.ts'
import type { WebState } from '#web/http/request.ts'

/**
 * Takes the token of a reply: the calls that follow send it, and every response sets its cookies, also that of a failure. The
 * previous token is dead. An unfinished sign-in of the browser, which may be of somebody else, is forgotten.
 */
export function takeToken(state: WebState, { token, csrf_token: csrfToken, session }: SignedIn): void {
  state.token = token
  state.setCookies.push(setCookie('session', token), setCookie('csrf', csrfToken))
  if (state.cookies.has('signIn')) state.setCookies.push(forgetOpenSignIn())
  if (state.session?.session.id === session.id) state.session = { ...state.session, session }
}
