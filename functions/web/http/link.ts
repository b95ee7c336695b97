import type { Config } from '#shared/base/config.ts'
import { ProblemError } from '#shared/client/client.ts'
import { TOKEN_PATTERN } from '#shared/secret/secret.ts'
import { type Content, html } from '#web/http/html.ts'
import { type MailLink, namedLink, newLink, writeLinks } from '#web/http/links.ts'
import type { Me } from '#web/http/me.ts'
import { type PageReply, redirect, type View, view } from '#web/http/reply.ts'
import { given, type WebState } from '#web/http/request.ts'
import { actionButton, LINK_FIELD } from '#web/view/form.ts'
import type { Ui } from '#web/view/ui.ts'

/**
 * Returns the response to the link of a mail: it moves the token from the address to a cookie, so that the address of the page
 * has none. Returns null when the address has no well-formed token. Nothing consumes the token before the form is sent,
 * because programs that scan mails open every link.
 */
export function keepToken(state: WebState, config: Config): PageReply | null {
  const { page } = given(state.matched)
  const token = state.query.get('token') ?? ''
  if (page.access !== 'link' || page.method !== 'GET' || !TOKEN_PATTERN.test(token)) return null
  const others = state.links.filter((link) => link.token !== token)
  return redirect(page.path, { cookies: [writeLinks([newLink(token, page.path, config), ...others])] })
}

/**
 * Returns the link that a page belongs to, or null when the browser has none: for a form the one that it names, else the one that
 * was opened last. An old form is only shown again.
 */
export function linkOf(state: WebState): MailLink | null {
  const { page } = given(state.matched)
  // A malformed token in the address must not lead to the token of an earlier link.
  if (page.access !== 'link' || state.query.has('token')) return null
  const links = state.links.filter((link) => link.page === page.path)
  const field = state.form?.get(LINK_FIELD) ?? ''
  const { webKey } = given(state.runtime)
  if (page.method === 'GET' || state.isOld) return links[0] ?? null
  return namedLink(links, field, { webKey, formSecret: state.formSecret, route: page.route })
}

/** In the place of the token of an address that is no token. */
export const MALFORMED_LINK = ''

/** What a link is for, and who opens it. */
type Opened<Account> =
  | { readonly is: 'missing' | 'invalid' }
  | { readonly is: 'of somebody else'; readonly email: string; readonly session: Me }
  | { readonly is: 'open'; readonly account: Account; readonly session: Me | null }

interface LinkUi extends Ui {
  readonly link: string | null
  readonly findSession: () => Promise<Me | null>
}

/** Reads whose link it is, which consumes nothing. A person who is signed in as somebody else has to sign out first. */
export async function openLink<Account extends { readonly email: string }>(
  { link, findSession, refusal }: LinkUi,
  inspect: (token: string) => Promise<Account>,
): Promise<Opened<Account>> {
  if (link === null) return { is: 'missing' }
  if (link === MALFORMED_LINK) return { is: 'invalid' }
  const [account, session] = await Promise.all([
    inspect(link).catch((error: unknown) => {
      if (isInvalidLink(error)) return null
      throw error
    }),
    findSession(),
  ])
  if (account === null) return { is: 'invalid' }
  const { email } = account
  if (session !== null && !isSameAddress(session.user.email, email)) return { is: 'of somebody else', email, session }
  // An old form says whom it was for. Another link may have taken its place.
  const meant = refusal?.values['username'] ?? email
  return isSameAddress(meant, email) ? { is: 'open', account, session } : { is: 'missing' }
}

const isSameAddress = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase()

/** The page of a link that cannot be used here. `to` is the page of the link, and `way` says how to get a new link. */
export function closedLink(
  ui: Ui,
  opened: Exclude<Opened<unknown>, { readonly is: 'open' }>,
  { to, way }: { readonly to: string; readonly way: Content },
): View {
  const { link: t } = ui.t
  if (opened.is !== 'of somebody else') {
    const [title, text] = opened.is === 'missing' ? [t.missing, t.missingText] : [t.invalid, t.used]
    return view({ status: 422, title, content: html`<div class="prose"><p>${text}</p>${way}</div>` })
  }
  const { email, session } = opened
  const named = ui.bound(to)[LINK_FIELD] ?? ''
  return view({
    title: t.other,
    content: html`<div class="prose"><p><strong>${t.otherText(email, session.user.email)}</strong></p></div>
<div class="actions">${actionButton({ ...ui, session }, { to: '/sign-out', hidden: { continue: to, named }, label: t.signOut, style: 'main' })} <a href="/">${t.stay}</a></div>`,
  })
}

/** Whether the API refused the token of a link. */
export const isInvalidLink = (error: unknown): boolean =>
  error instanceof ProblemError && error.kind === 'token-invalid'
