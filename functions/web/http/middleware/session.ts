import { ProblemError } from '#shared/client/client.ts'
import { unauthorized } from '#shared/base/problem.ts'
import { setCookie } from '#web/http/cookies.ts'
import { formField, isSame, needsSession } from '#web/http/csrf.ts'
import type { Language } from '#shared/schema/language.ts'
import { languageCookie } from '#web/http/language.ts'
import { ForeignForm } from '#web/http/foreign-form.ts'
import { parseQuery } from '#web/http/form-data.ts'
import { given, type WebMiddleware, type WebState } from '#web/http/request.ts'
import { CSRF_FIELD } from '#web/view/form.ts'

/**
 * Reads the session, where the page needs one, and checks the CSRF field of every form: against the cookie, and against what the
 * API derives from the session's secret. A form of ours whose field is missing or old is shown again, and nothing is done.
 */
export const session = (): WebMiddleware => ({
  before: async ({ context: { request: state } }) => {
    const { page, params } = given(state.matched)
    const call = given(state.call)
    if (!needsSession(page)) {
      if (page.method === 'POST') checkField(state, expectedOfBrowser(state))
      return
    }
    if (state.token === null) throw unauthorized('the browser sent no session token')
    if (page.load !== null) {
      state.loading = page.load({ params, query: parseQuery(page, state), ...given(state.loader) })
      // The page meets a refusal later. Without a session or a response, there is nothing to show it in.
      await state.loading.catch((error: unknown) => {
        if (state.session === null && error instanceof ProblemError && (error.status === 401 || error.status >= 500))
          throw error
      })
    }
    state.session ??= await call('GET /v1/auth/session')
    speakAs(state, state.session.user.language)
    const { csrf_token: csrfToken } = state.session
    const cookie = state.cookies.get('csrf') ?? ''
    if (page.method === 'POST') checkField(state, isSame(cookie, csrfToken) ? csrfToken : '')
    if (cookie !== csrfToken) state.setCookies.push(setCookie('csrf', csrfToken))
  },
})

/** Pages speak the language of the person, unless this browser has one already. */
function speakAs(state: WebState, language: Language): void {
  if (state.cookies.has('lang')) return
  state.language = language
  state.setCookies.push(languageCookie(language))
}

const expectedOfBrowser = (state: WebState): string =>
  state.cookies.has('form')
    ? formField(given(state.runtime).webKey, state.formSecret, given(state.matched).page.route)
    : ''

function checkField(state: WebState, expected: string): void {
  const sent = given(state.form).getAll(CSRF_FIELD)
  if (sent.length === 1 && isSame(sent[0] ?? '', expected)) return
  if (!state.fromOurPage) throw new ForeignForm('the CSRF field is missing or not ours')
  state.isOld = true
}
