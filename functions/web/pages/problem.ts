import { notFound, PROBLEMS, type ProblemKind } from '#shared/base/problem.ts'
import { html } from '#web/http/html.ts'
import { page } from '#web/http/page.ts'
import { view } from '#web/http/reply.ts'

const isKind = (text: string): text is ProblemKind => Object.hasOwn(PROBLEMS, text)

/** What a type of problem means, and what to do. The `type` of a problem is the address of this page. */
export const showProblem = page({
  route: 'GET /problems/{kind}',
  access: 'anyone',
  async handle({ params: { kind }, language }) {
    if (!isKind(kind)) throw notFound('no such kind of problem')
    // Few open it, so a start of the function reads none of these texts.
    const { problemPages } =
      language === 'es' ? await import('#web/texts/es/problems.ts') : await import('#web/texts/en/problems.ts')
    const { titles, actions, about, ...labels } = problemPages
    return view({
      title: titles[kind],
      content: html`<div class="prose"><p>${actions[kind]}</p></div>
<dl><dt>${labels.status}</dt><dd>${PROBLEMS[kind].status}</dd><dt>${labels.kind}</dt><dd><code>${kind}</code></dd></dl>
<p class="quiet">${about}</p>`,
    })
  },
})
