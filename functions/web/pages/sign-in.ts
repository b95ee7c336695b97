import * as v from 'valibot'
import { ProblemError } from '#shared/client/client.ts'
import { setCookie } from '#web/http/cookies.ts'
import { html } from '#web/http/html.ts'
import { isNotice } from '#web/http/notices.ts'
import { page } from '#web/http/page.ts'
import { NoticeQuery, optional } from '#web/http/query.ts'
import { FormRefused } from '#web/http/refusal.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { field, form } from '#web/view/form.ts'
import type { Ui } from '#web/view/ui.ts'

export const showSignIn = page({
  route: 'GET /sign-in',
  access: 'anyone',
  query: v.object({ ...NoticeQuery.entries, next: optional }),
  async handle(context) {
    const { query, findSession } = context
    if ((await findSession()) !== null)
      return redirect(context.ownAddress(query.next ?? '') ?? '/', {
        notice: isNotice(query.notice) ? query.notice : null,
      })
    return signInView(context, query.next)
  },
})

export const signIn = page({
  route: 'POST /sign-in',
  access: 'anyone',
  form: v.object({ email: v.string(), password: v.string(), next: optional }),
  async handle(context) {
    const { form, call, ownAddress, languageAtSignIn } = context
    const { email, password } = form
    const reply = await call('POST /v1/auth/login', { body: { email, password } }).catch((error: unknown) => {
      // One text for every refusal: also for an address that is none.
      if (error instanceof ProblemError && (error.status === 401 || error.status === 422))
        throw new FormRefused({ field: null, message: context.t.signIn.refused })
      throw error
    })
    if ('second_factor' in reply) throw new FormRefused({ field: null, message: context.t.signIn.owesFactor })
    return redirect(ownAddress(form.next ?? '') ?? '/', {
      cookies: [setCookie('session', reply.token), setCookie('csrf', reply.csrf_token), ...languageAtSignIn],
    })
  },
  again: async (context) => signInView(context, context.refusal?.values['next'] ?? null),
})

function signInView(ui: Ui, next: string | null): View {
  const { signIn: texts } = ui.t
  const address = ui.ownAddress(next ?? '')
  return view({
    title: texts.title,
    content: html`${form(ui, {
      to: '/sign-in',
      hidden: address === null ? {} : { next: address },
      fields: [
        field(ui, { name: 'email', label: texts.email, type: 'email', autocomplete: 'username' }),
        field(ui, { name: 'password', label: texts.password, type: 'password', autocomplete: 'current-password' }),
      ],
      submit: texts.submit,
    })}
<p><a href="/forgot-password">${texts.forgot}</a></p>
<p class="quiet">${texts.noAccount}</p>`,
  })
}
