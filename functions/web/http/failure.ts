import type { FailureStatus, Problem } from '#shared/base/problem.ts'
import type { ProxyResult } from '#shared/http/proxy-result.ts'
import { ForeignForm } from '#web/http/foreign-form.ts'
import { html } from '#web/http/html.ts'
import type { Language } from '#shared/schema/language.ts'
import { type View, view } from '#web/http/reply.ts'
import type { WebState } from '#web/http/request.ts'
import { TEXTS, type Texts } from '#web/texts/texts.ts'
import { STYLE_SHEET } from '#web/view/style.ts'
import type { Ui } from '#web/view/ui.ts'

/** The title and the text of a failure. A refusal of access never says why. */
function wordsOf(status: FailureStatus, { failures }: Texts, detail?: string): { title: string; text: string } {
  switch (status) {
    case 400:
      return failures.invalid
    case 401:
    case 403:
      return failures.forbidden
    case 404:
    case 410:
      return failures.notFound
    case 405:
      return failures.method
    case 413:
      return failures.tooLarge
    case 415:
      return failures.mediaType
    case 409:
    case 412:
    case 422:
      return { ...failures.refused, ...(detail === undefined ? {} : { text: detail }) }
    case 429:
      return { title: failures.tooMany.title, text: detail ?? failures.refused.text }
    case 500:
      return failures.internal
    case 502:
    case 503:
    case 504:
      return failures.unavailable
  }
}

/** The page of a failure, in the layout. */
export function failurePage({ t: texts, platform }: Ui, { requestId }: WebState, problem: Problem): View {
  const { status, options } = problem
  const { title, text } =
    problem instanceof ForeignForm ? texts.failures.foreign : wordsOf(status, texts, options.detail)
  return view({
    status,
    title,
    headers: { ...options.headers },
    content: html`<div class="prose"><p>${text}</p>
${status >= 500 && html`<p class="quiet">${texts.failures.reference(requestId)}${platform.supportUrl !== '' && html` · <a href="${platform.supportUrl}">${texts.common.support}</a>`}</p>`}
<p><a href="/">${texts.failures.home}</a></p></div>`,
  })
}

/**
 * Returns the markup of a failure without the layout, which needs a runtime: in the first language, and below it in the others.
 * It is ASCII, because a template of CloudFormation may lose other characters.
 */
export function bareMarkup(languages: readonly [Language, ...Language[]], status: FailureStatus): string {
  const [first, ...others] = languages
  const words = (language: Language) => wordsOf(status, TEXTS[language])
  const rest = (language: Language) =>
    html`<p>${words(language).text}</p><p><a href="/">${TEXTS[language].failures.home}</a></p>`
  const markup = html`<html lang="${first}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>${words(first).title}</title><link rel="stylesheet" href="${STYLE_SHEET.path}"></head><body><main><h1>${words(first).title}</h1>${rest(first)}${others.map((language) => html`<section lang="${language}"><h2>${words(language).title}</h2>${rest(language)}</section>`)}</main></body></html>`
  return `<!doctype html>\n${markup.toString().replaceAll(/[^\x20-\x7e]/gu, (char) => `&#${char.codePointAt(0)};`)}\n`
}

/** Returns the response of a failure without the layout. */
export const bareFailure = (language: Language, { status, options }: Problem, requestId: string): ProxyResult => ({
  statusCode: status,
  headers: { 'content-type': 'text/html; charset=utf-8', 'x-request-id': requestId, ...options.headers },
  body: bareMarkup([language], status),
})
