import { shownEmail } from '#shared/schema/shown-email.ts'
import * as v from 'valibot'
import { Language } from '#shared/schema/language.ts'
import { html } from '#web/http/html.ts'
import { languageCookie, LANGUAGES } from '#web/http/language.ts'
import { page } from '#web/http/page.ts'
import { NoticeQuery } from '#web/http/query.ts'
import { FormRefused } from '#web/http/refusal.ts'
import { redirect, type View, view } from '#web/http/reply.ts'
import { type Me, proofOf } from '#web/http/me.ts'
import { select } from '#web/view/choices.ts'
import { accountField, actionButton, field, form } from '#web/view/form.ts'
import { badge } from '#web/view/parts.ts'
import type { Ui } from '#web/view/ui.ts'

export const showAccount = page({
  route: 'GET /account',
  access: 'session',
  query: NoticeQuery,
  handle: async (context) => accountView(context, context.minLength),
})

export const changePassword = page({
  route: 'POST /account/password',
  access: 'session',
  stepUp: 'POST /v1/auth/password/change',
  formAt: '/account',
  form: v.object({ current_password: v.string(), new_password: v.string(), repeated: v.string() }),
  async handle({ form, call, t }) {
    const { current_password, new_password, repeated } = form
    if (new_password !== repeated) throw new FormRefused({ field: 'repeated', message: t.account.notRepeated })
    await call('POST /v1/auth/password/change', { body: { current_password, new_password } })
    return redirect('/account', { notice: 'password-changed' })
  },
  again: async (context) => accountView(context, context.minLength),
})

export const changeLanguage = page({
  route: 'POST /account/language',
  access: 'session',
  formAt: '/account',
  form: v.object({ language: Language }),
  async handle({ form, call }) {
    await call('PATCH /v1/auth/profile', { body: form })
    return redirect('/account', { notice: 'language-changed', cookies: [languageCookie(form.language)] })
  },
  again: async (context) => accountView(context, context.minLength),
})

function accountView(ui: Ui & { readonly session: Me }, minLength: number): View {
  const { user } = ui.session
  const { account: texts } = ui.t
  const isOn = proofOf(ui.session) === 'code'
  return view({
    title: texts.title,
    content: html`<dl><dt>${texts.name}</dt><dd>${user.full_name ?? ui.t.common.unknown}</dd><dt>${texts.email}</dt><dd>${shownEmail(user.email)} ${user.email_verified_at === null ? badge(texts.unverified, 'warn') : badge(texts.verified, 'good')}</dd></dl>
${user.email_verified_at === null && actionButton(ui, { to: '/verify-email/resend', label: ui.t.verifyEmail.resend })}
<p><a href="/account/sessions">${texts.sessions}</a></p>
<p><a href="/account/second-factor">${ui.t.secondFactor.title}</a> ${badge(isOn ? ui.t.secondFactor.isOn : ui.t.secondFactor.isOff, isOn ? 'good' : 'plain')}</p>
<h2>${texts.language}</h2>
${form(ui, {
  to: '/account/language',
  fields: select(ui, {
    name: 'language',
    label: texts.language,
    hint: texts.languageHint,
    value: user.language,
    options: Object.entries(LANGUAGES).map(([value, label]) => ({ value, label })),
  }),
  submit: texts.saveLanguage,
})}
<h2>${texts.password}</h2>
<p class="prose">${texts.passwordText}</p>
${form(ui, {
  to: '/account/password',
  fields: [
    accountField(ui, user.email),
    field(ui, { name: 'current_password', label: texts.current, type: 'password', autocomplete: 'current-password' }),
    field(ui, {
      name: 'new_password',
      label: texts.new,
      hint: ui.t.resetPassword.hint(minLength),
      type: 'password',
      autocomplete: 'new-password',
      minLength,
    }),
    field(ui, {
      name: 'repeated',
      label: texts.repeated,
      type: 'password',
      autocomplete: 'new-password',
      minLength,
    }),
  ],
  submit: texts.change,
})}`,
  })
}
