import * as v from 'valibot'
import { ProblemError } from '#shared/client/client.ts'
import type { Assertion } from '#shared/factor/credential.ts'
import { shownEmail } from '#shared/schema/shown-email.ts'
import { isSame } from '#web/http/csrf.ts'
import { html } from '#web/http/html.ts'
import { forgetOpenSignIn } from '#web/http/open-sign-in.ts'
import { page, type PageContext } from '#web/http/page.ts'
import { assertionOf, passkeyOptions } from '#web/http/passkey.ts'
import { NoticeQuery, optional, present } from '#web/http/query.ts'
import { FormRefused, fieldMessage } from '#web/http/refusal.ts'
import { type PageReply, redirect, view } from '#web/http/reply.ts'
import { field, form } from '#web/view/form.ts'
import { passkeyForm } from '#web/view/passkey.ts'
import { withQuery } from '#web/view/parts.ts'

const [CODE, RECOVERY] = ['/sign-in/second-factor', '/sign-in/recovery-code']
const Query = v.object({ ...NoticeQuery.entries, next: optional })
/** What both forms have: the open sign-in that the form names, and where the person wanted to go. */
const Bound = { sign_in: optional, next: optional }

export const askCode = page({
  route: 'GET /sign-in/second-factor',
  access: 'anyone',
  query: Query,
  handle: async (context) => askView(context, context.query.next, 'code'),
})

/** Finishes the open sign-in by a code of the authenticator app. */
export const finishByCode = page({
  route: 'POST /sign-in/second-factor',
  access: 'anyone',
  form: v.object({ code: optional, credential: optional, ...Bound }),
  secrets: ['code'],
  ownTexts: ({ secondFactor }) => ({ code: { 'wrong-format': secondFactor.codeFormat } }),
  async handle(context) {
    const { form, t } = context
    const sent = (form.credential ?? '') !== ''
    if (!sent && form.code === null) throw new FormRefused(fieldMessage('code', t.fieldErrors.required))
    return finish(context, sent ? { credential: assertionOf(form.credential, t) } : { code: form.code ?? '' }, '/')
  },
  again: async (context) => askView(context, context.refusal?.values['next'] ?? null, 'code'),
})

export const askRecoveryCode = page({
  route: 'GET /sign-in/recovery-code',
  access: 'anyone',
  query: Query,
  handle: async (context) => askView(context, context.query.next, 'recovery_code'),
})

/** Finishes the open sign-in by a recovery code, and says what to do about a lost phone. */
export const finishByRecoveryCode = page({
  route: 'POST /sign-in/recovery-code',
  access: 'anyone',
  form: v.object({ recovery_code: v.string(), ...Bound }),
  ownTexts: ({ secondFactor: { recoveryCodeFormat, wrongRecoveryCode } }) => ({
    recovery_code: { 'wrong-format': recoveryCodeFormat, 'wrong-code': wrongRecoveryCode },
  }),
  handle: async (context) => finish(context, { recovery_code: context.form.recovery_code }, null),
  again: async (context) => askView(context, context.refusal?.values['next'] ?? null, 'recovery_code'),
})

type Context = PageContext<'anyone', unknown, unknown, unknown, unknown>
type Finishing = PageContext<'anyone', unknown, unknown, { sign_in: string | null; next: string | null }, unknown>

async function finish(
  context: Finishing,
  proof: { readonly code: string } | { readonly recovery_code: string } | { readonly credential: Assertion },
  home: '/' | null,
): Promise<PageReply> {
  const { openSignIn, form, call, ownAddress, languageAtSignIn, takeToken, t } = context
  const next = ownAddress(form.next ?? '')
  if (openSignIn === null) return startAgain(next)
  if (!isSame(form.sign_in ?? '', openSignIn.field))
    throw new FormRefused({ field: null, message: t.failures.openTooLong })
  try {
    takeToken(await call('POST /v1/auth/login/second-factor', { body: { sign_in_token: openSignIn.token, ...proof } }))
  } catch (error) {
    if (error instanceof ProblemError && error.kind === 'sign-in-expired') return startAgain(next)
    throw error
  }
  return home === null
    ? redirect(withQuery('/account/second-factor', { next }), {
        notice: 'recovery-code-used',
        cookies: languageAtSignIn,
      })
    : redirect(next ?? home, { cookies: languageAtSignIn })
}

/** The password opens another sign-in. */
const startAgain = (next: string | null): PageReply =>
  redirect(withQuery('/sign-in', { next }), { notice: 'sign-in-expired', cookies: [forgetOpenSignIn()] })

async function askView(context: Context, next: string | null, by: 'code' | 'recovery_code'): Promise<PageReply> {
  const { openSignIn, t, ownAddress } = context
  const address = ownAddress(next ?? '')
  if (openSignIn === null) return redirect(withQuery('/sign-in', { next: address }))
  const { secondFactor: texts, signIn } = t
  const options = await passkeyOptions(context.call, { sign_in_token: openSignIn.token })
  const hidden = { sign_in: openSignIn.field, ...present({ next: address }) }
  const { hasApp } = openSignIn
  const [email, isCode] = [shownEmail(openSignIn.email), hasApp && by === 'code']
  const link = (to: string, label: string) => html`<p><a href="${withQuery(to, { next: address })}">${label}</a></p>`
  return view({
    title: isCode ? texts.codeTitle : hasApp ? texts.recoveryTitle : texts.confirm,
    content: html`<p class="prose">${isCode ? texts.codeText(email) : hasApp || options === null ? texts.recoveryText(email) : texts.passkeyText(email)}</p>
${options !== null && html`<noscript><p>${texts.needsScripts}</p></noscript>${passkeyForm(context, { to: CODE, hidden, options, submit: texts.usePasskey })}`}
${form(context, {
  to: isCode ? CODE : RECOVERY,
  hidden,
  fields: isCode
    ? field(context, { name: 'code', label: texts.code, hint: texts.codeHint, autocomplete: 'one-time-code' })
    : field(context, {
        name: 'recovery_code',
        label: texts.recoveryCode,
        hint: texts.recoveryHint,
        autocomplete: 'off',
      }),
  submit: signIn.submit,
})}
${isCode ? link(RECOVERY, texts.useRecoveryCode) : hasApp && link(CODE, texts.useCode)}
${link('/sign-in', texts.otherAccount)}
${!isCode && html`<p class="quiet">${texts.noWay}</p>`}`,
  })
}
