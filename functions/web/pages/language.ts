import * as v from 'valibot'
import { setCookie } from '#web/http/cookies.ts'
import { html } from '#web/http/html.ts'
import { LANGUAGES } from '#shared/schema/language.ts'
import { page } from '#web/http/page.ts'
import { redirect, view } from '#web/http/reply.ts'

/** Keeps the language that the person chose, and leads back. */
export const chooseLanguage = page({
  route: 'POST /language',
  access: 'anyone',
  formAt: '/',
  form: v.object({ lang: v.picklist(LANGUAGES), next: v.fallback(v.string(), '/') }),
  handle: async ({ form, ownAddress }) =>
    redirect(ownAddress(form.next) ?? '/', { cookies: [setCookie('lang', form.lang)] }),
  // The languages stand below every page.
  again: async ({ t, refusal, ownAddress }) =>
    view({
      title: t.common.language,
      content: html`<p><a href="${ownAddress(refusal?.values['next'] ?? '') ?? '/'}">${t.common.back}</a></p>`,
    }),
})
