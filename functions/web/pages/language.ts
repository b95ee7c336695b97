import * as v from 'valibot'
import { setCookie } from '#web/http/cookies.ts'
import { html } from '#web/http/html.ts'
import { languageCookie } from '#web/http/language.ts'
import { LANGUAGES } from '#shared/schema/language.ts'
import { page } from '#web/http/page.ts'
import { redirect, view } from '#web/http/reply.ts'

/** Keeps the language that the person chose, and leads back. Of somebody who is signed in, emails are in it too. */
export const chooseLanguage = page({
  route: 'POST /language',
  access: 'anyone',
  formAt: '/',
  form: v.object({ lang: v.picklist(LANGUAGES), next: v.fallback(v.string(), '/') }),
  async handle({ form, ownAddress, findSession, call }) {
    const isSignedIn = (await findSession()) !== null
    if (isSignedIn) await call('PATCH /v1/auth/profile', { body: { language: form.lang } })
    const cookie = isSignedIn ? languageCookie(form.lang) : setCookie('lang', form.lang)
    return redirect(ownAddress(form.next) ?? '/', { cookies: [cookie] })
  },
  // The languages stand below every page.
  again: async ({ t, refusal, ownAddress }) =>
    view({
      title: t.common.language,
      content: html`<p><a href="${ownAddress(refusal?.values['next'] ?? '') ?? '/'}">${t.common.back}</a></p>`,
    }),
})
