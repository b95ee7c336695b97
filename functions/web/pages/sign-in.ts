import * as v from 'valibot'
import { type Client, ProblemError } from '#shared/client/client.ts'
import { html } from '#web/http/html.ts'
import { isNotice } from '#web/http/notices.ts'
import { page } from '#web/http/page.ts'
import { NoticeQuery, optional, present } from '#web/http/query.ts'
import { FormRefused } from '#web/http/refusal.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { goOn } from '#web/pages/sign-in-with.ts'
import { assertionOf, passkeyOptions, passkeyRefused } from '#web/http/passkey.ts'
import { field, form } from '#web/view/form.ts'
import { withQuery } from '#web/view/parts.ts'
import { passkeyForm } from '#web/view/passkey.ts'
import type { Ui } from '#web/view/ui.ts'

export const showSignIn = page({
  route: 'GET /sign-in',
  access: 'anyone',
  query: v.object({ ...NoticeQuery.entries, next: optional }),
  async handle(context) {
    const { query, findSession } = context
    // A late response of another tab may lead here after a step-up of this session.
    const notice = isNotice(query.notice) && query.notice !== 'session-ended' ? query.notice : null
    if ((await findSession()) !== null) return redirect(context.ownAddress(query.next ?? '') ?? '/', { notice })
    return signInView(context, query.next)
  },
})

export const signIn = page({
  route: 'POST /sign-in',
  access: 'anyone',
  form: v.object({ email: v.string(), password: v.string(), next: optional }),
  async handle(context) {
    const { form, call, ownAddress } = context
    const { email, password } = form
    const reply = await call('POST /v1/auth/login', { body: { email, password } }).catch((error: unknown) => {
      // One text for every refusal: also for an address that is none.
      if (error instanceof ProblemError && (error.status === 401 || error.status === 422))
        throw new FormRefused({ field: null, message: context.t.signIn.refused })
      throw error
    })
    const { to, cookies } = goOn(context, reply, { email, next: ownAddress(form.next ?? '') })
    return redirect(to, { cookies })
  },
  again: async (context) => signInView(context, context.refusal?.values['next'] ?? null),
})

/** Signs in by a passkey, which the script has asked. */
export const signInByPasskey = page({
  route: 'POST /sign-in/passkey',
  access: 'anyone',
  form: v.object({ credential: v.string() }),
  formAt: '/sign-in',
  async handle({ form, call, wanted, takeToken, languageAtSignIn, t }) {
    const body = { credential: assertionOf(form.credential, t) }
    const reply = await call('POST /v1/auth/login/passkey', { body }).catch((error: unknown) => {
      if (error instanceof ProblemError && error.status === 401) throw passkeyRefused(t)
      throw error
    })
    takeToken(reply)
    return redirect(wanted ?? '/', { cookies: languageAtSignIn })
  },
  again: async (context) => signInView(context, context.wanted),
})

async function signInView(ui: Ui & { readonly call: Client['call'] }, next: string | null): Promise<View> {
  const options = await passkeyOptions(ui.call, {})
  const { signIn: texts } = ui.t
  const hidden = present({ next: ui.ownAddress(next ?? '') })
  return view({
    title: texts.title,
    content: html`${form(ui, {
      to: '/sign-in',
      hidden,
      fields: [
        field(ui, {
          name: 'email',
          label: texts.email,
          type: 'email',
          autocomplete: options === null ? 'username' : 'username webauthn',
        }),
        field(ui, { name: 'password', label: texts.password, type: 'password', autocomplete: 'current-password' }),
      ],
      submit: texts.submit,
    })}
${
  options !== null &&
  passkeyForm(ui, {
    // After a refusal, the address of the form is that of the page.
    to: withQuery('/sign-in/passkey', hidden),
    options,
    submit: ui.t.secondFactor.usePasskey,
    autofill: true,
  })
}
<p><a href="/forgot-password">${texts.forgot}</a></p>
<p class="quiet">${texts.noAccount}</p>`,
  })
}
