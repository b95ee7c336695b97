import { ProblemError } from '#shared/client/client.ts'
import { TOKEN_PATTERN } from '#shared/secret/secret.ts'
import { setCookie } from '#web/http/cookies.ts'
import { type Content, html } from '#web/http/html.ts'
import { type PageReply, redirect, type View, view } from '#web/http/reply.ts'
import { given, type WebState } from '#web/http/request.ts'
import type { Ui } from '#web/view/ui.ts'

/**
 * Returns the response to the link of a mail: it moves the token from the address to a cookie, so that the address of the page
 * has none. Returns null when the address has no well-formed token. Nothing consumes the token before the form is sent,
 * because programs that scan mails open every link.
 */
export function keepToken(state: WebState): PageReply | null {
  const { page } = given(state.matched)
  const token = state.query.get('token') ?? ''
  if (page.access !== 'link' || page.method !== 'GET' || !TOKEN_PATTERN.test(token)) return null
  return redirect(state.path, { cookies: [setCookie('link', token)] })
}

/** Returns the token of the link that the browser came by, or null when the cookie has expired. */
export function linkOf(state: WebState): string | null {
  // A malformed token in the address must not lead to the token of an earlier link.
  if (state.query.has('token')) return null
  const token = state.cookies.get('link') ?? ''
  return TOKEN_PATTERN.test(token) ? token : null
}

/** The page of a link that is unknown, expired or of another kind. `way` says how to get a new one. */
export const invalidLink = ({ t }: Ui, way: Content): View =>
  view({ status: 422, title: t.link.invalid, content: html`<div class="prose">${way}</div>` })

/** Whether the API refused the token of a link. */
export const isInvalidLink = (error: unknown): boolean =>
  error instanceof ProblemError && error.kind === 'token-invalid'
