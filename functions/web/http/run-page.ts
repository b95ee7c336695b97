import * as v from 'valibot'
import { ProblemError } from '#shared/client/client.ts'
import type { Config } from '#shared/base/config.ts'
import { fieldsOf } from '#shared/http/form.ts'
import { parseQuery } from '#web/http/form-data.ts'
import { invalidForm, refusalOf } from '#web/http/refusal.ts'
import { keepToken, linkOf } from '#web/http/link.ts'
import type { MakeUi } from '#web/http/render.ts'
import type { PageReply } from '#web/http/reply.ts'
import { forgetSession, given, sentToken, type WebState } from '#web/http/request.ts'
import type { Me } from '#web/http/me.ts'
import type { Refusal, Ui } from '#web/view/ui.ts'

/** Runs the page. A form that is refused is shown again, if the page says how. */
export async function runPage(state: WebState, makeUi: MakeUi, config: Config): Promise<{ reply: PageReply; ui: Ui }> {
  const { page, params } = given(state.matched)
  const call = given(state.call)
  const query = parseQuery(page, state)
  const token = keepToken(state)
  if (token !== null) return { reply: token, ui: makeUi(state) }
  const contextWith = (form: unknown, data: unknown, refusal?: Refusal) => ({
    ...makeUi(state, refusal),
    params,
    query,
    form,
    data,
    link: page.access === 'link' ? linkOf(state) : null,
    call,
    minLength: config.password.minLength,
    callWithEtag: given(state.callWithEtag),
    findSession: () => findSession(state),
  })
  try {
    const context = contextWith(parseForm(state), await state.loading)
    return { reply: await page.handle(context), ui: context }
  } catch (error) {
    const refusal = page.again === null ? null : refusalOf(error, state)
    if (refusal === null || page.again === null) throw error
    const context = contextWith(null, undefined, refusal)
    const reply = await page.again(context)
    const headers: Record<string, string> = { ...reply.headers }
    if (refusal.retryAfterSeconds !== null) headers['retry-after'] = String(refusal.retryAfterSeconds)
    return {
      reply: reply.kind === 'view' ? { ...reply, status: refusal.status, headers } : reply,
      ui: context,
    }
  }
}

function parseForm(state: WebState): unknown {
  const { form } = given(state.matched).page
  if (form === null) return null
  const parsed = v.safeParse(form, fieldsOf(given(state.form)), { abortPipeEarly: true })
  if (!parsed.success) throw invalidForm(parsed.issues, state)
  return parsed.output
}

async function findSession(state: WebState): Promise<Me | null> {
  if (sentToken(state) === null) return null
  try {
    // A form of the page may need the session's CSRF field.
    state.session = await given(state.call)('GET /v1/auth/session')
    return state.session
  } catch (error) {
    if (!(error instanceof ProblemError) || error.status !== 401) throw error
    forgetSession(state)
    return null
  }
}
