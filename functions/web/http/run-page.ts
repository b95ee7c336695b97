import * as v from 'valibot'
import type { Config } from '#shared/base/config.ts'
import { ProblemError } from '#shared/client/client.ts'
import { fieldsOf } from '#shared/http/form.ts'
import { formAddress } from '#web/http/form-address.ts'
import { parseQuery } from '#web/http/form-data.ts'
import { languageAtSignIn } from '#web/http/language.ts'
import { keepToken, linkOf, MALFORMED_LINK } from '#web/http/link.ts'
import { namedLink, writeLinks } from '#web/http/links.ts'
import type { Me } from '#web/http/me.ts'
import { keepOpenSignIn, openSignInOf } from '#web/http/open-sign-in.ts'
import { isButton, type Page } from '#web/http/page.ts'
import { ownPasskey } from '#web/http/passkey.ts'
import { invalidForm, OldForm, oldForm, refusalOf } from '#web/http/refusal.ts'
import { proofPage } from '#web/view/proof-page.ts'
import type { MakeUi } from '#web/http/render.ts'
import type { PageReply } from '#web/http/reply.ts'
import { forgetSession, given, type WebState } from '#web/http/request.ts'
import { asksForCode, stepUpBy } from '#web/http/step-up.ts'
import { takeToken } from '#web/http/session-token.ts'
import { forgetTyped, typedHere } from '#web/http/typed.ts'
import { UUID } from '#shared/schema/uuid.ts'
import { ONCE_FIELD } from '#web/view/form.ts'
import { TEXTS } from '#web/texts/texts.ts'
import type { Refusal, Ui } from '#web/view/ui.ts'

/** What a page is run with. `pages` by their routes. */
export interface Running {
  readonly makeUi: MakeUi
  readonly config: Config
  readonly byRoute: ReadonlyMap<string, Page>
}

/** Runs the page. A form that is refused or old is shown again, by the page itself or by the page that has the form. */
export async function runPage(state: WebState, running: Running): Promise<{ reply: PageReply; ui: Ui }> {
  const { page } = given(state.matched)
  const { makeUi, config } = running
  const query = parseQuery(page, state)
  const token = keepToken(state, config)
  if (token !== null) return { reply: token, ui: makeUi(state) }
  state.link = linkOf(state)
  const contextWith = contextOf(state, { ...running, query })
  try {
    if (state.isOld) throw new OldForm()
    const form = parseForm(state)
    await stepUpBy(state, config)
    const data = await state.loading
    if (page.method === 'GET') await findPasskey(state, running)
    const context = contextWith(form, data, interrupted(state))
    const reply = await page.handle(context)
    if (page.method === 'POST' && (reply.kind !== 'view' || reply.status < 400)) forgetTyped(state)
    return { reply, ui: context }
  } catch (error) {
    const refusal = error instanceof OldForm ? oldForm(state) : refusalOf(error, state)
    if (refusal === null || (page.method === 'GET' && page.again === null)) throw error
    await findPasskey(state, running, refusal)
    const context = contextWith(null, undefined, refusal)
    const reply = await again(state, context, running)
    const headers: Record<string, string> = { ...reply.headers }
    if (refusal.retryAfterSeconds !== null) headers['retry-after'] = String(refusal.retryAfterSeconds)
    return { reply: reply.kind === 'view' ? { ...reply, status: refusal.status, headers } : reply, ui: context }
  }
}

type Context = Parameters<Page['handle']>[0]

/** Finds the passkey of the person, if a form of the page that is shown asks for a proof of the second factor. */
async function findPasskey(state: WebState, { byRoute, config }: Running, refusal: Refusal | null = null) {
  if (asksForCode(state, byRoute.values(), config, refusal)) state.ownPasskey = await ownPasskey(given(state.call))
}

function contextOf(state: WebState, { makeUi, config, query }: Running & { readonly query: unknown }) {
  const { params } = given(state.matched)
  return (form: unknown, data: unknown, refusal: Refusal | null): Context => ({
    ...makeUi(state, refusal),
    params,
    query,
    form,
    data,
    link: state.query.has('token') ? MALFORMED_LINK : (state.link?.token ?? null),
    call: given(state.call),
    idempotencyKey: UUID.exec(state.form?.get(ONCE_FIELD) ?? '')?.[0],
    minLength: config.password.minLength,
    inviteTtlSeconds: config.invite.ttlSeconds,
    keyMaxDays: config.apiKey.maxDays,
    securityContact: config.securityContact,
    callWithEtag: given(state.callWithEtag),
    callForFile: given(state.callForFile),
    findSession: () => findSession(state),
    languageAtSignIn: languageAtSignIn(state.cookies.get('lang')),
    openSignIn: openSignInOf(state),
    keepOpenSignIn: (owed, email) => keepOpenSignIn(state, owed, email),
    takeToken: (reply) => takeToken(state, reply),
    useLink: () => writeLinks(state.links.filter(({ token }) => token !== state.link?.token)),
    firstLink: (path, field) => {
      const { webKey } = given(state.runtime)
      const links = state.links.filter((link) => link.page === path)
      const named = namedLink(links, field, { webKey, formSecret: state.formSecret, route: `POST ${path}` }) ?? links[0]
      return named === undefined ? null : writeLinks([named, ...state.links.filter((link) => link !== named)])
    },
  })
}

async function again(state: WebState, context: Context, running: Running): Promise<PageReply> {
  const { page } = given(state.matched)
  if (context.refusal?.kind === 'step-up-required' && isButton(page)) return proofPage(context, formAddress(state))
  return page.again === null ? formPage(state, context, running) : page.again(context)
}

/** Shows the page that has the form, with the refusal. */
async function formPage(state: WebState, context: Context, { byRoute }: Running): Promise<PageReply> {
  const shown = byRoute.get(`GET ${given(state.matched).page.formAt}`)
  if (shown === undefined) throw new Error('no page shows the form')
  const query = shown.query === null ? null : v.parse(shown.query, {})
  const data = await shown.load?.({ params: context.params, query, ...given(state.loader) })
  return shown.handle({ ...context, path: formAddress(state), query, data })
}

/** What the person typed before they had to sign in or to change the shop. */
function interrupted(state: WebState): Refusal | null {
  const typed = given(state.matched).page.method === 'GET' ? typedHere(state) : null
  if (typed === null) return null
  const { notDone, notKept } = TEXTS[state.language].failures
  const errors = [{ field: null, message: typed.values === null ? notKept : notDone }]
  return { status: 422, kind: null, values: typed.values ?? {}, errors, retryAfterSeconds: null, labels: new Map() }
}

function parseForm(state: WebState): unknown {
  const { form } = given(state.matched).page
  if (form === null) return null
  const parsed = v.safeParse(form, fieldsOf(given(state.form)), { abortPipeEarly: true })
  if (!parsed.success) throw invalidForm(parsed.issues, state)
  return parsed.output
}

async function findSession(state: WebState): Promise<Me | null> {
  if (state.token === null) {
    forgetSession(state)
    return null
  }
  try {
    // A form of the page may need the session's CSRF field.
    state.session ??= await given(state.call)('GET /v1/auth/session')
    return state.session
  } catch (error) {
    if (!(error instanceof ProblemError) || error.status !== 401) throw error
    forgetSession(state)
    return null
  }
}
