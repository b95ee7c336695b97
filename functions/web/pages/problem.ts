import { notFound, PROBLEMS, type ProblemKind } from '#shared/base/problem.ts'
import { html } from '#web/http/html.ts'
import { page } from '#web/http/page.ts'
import { view } from '#web/http/reply.ts'

const isKind = (text: string): text is ProblemKind => Object.hasOwn(PROBLEMS, text)

/** What a type of problem means, and what to do. The `type` of a problem is the address of this page. */
export const showProblem = page({
  route: 'GET /problems/{kind}',
  access: 'anyone',
  async handle({ params: { kind }, t }) {
    if (!isKind(kind)) throw notFound('no such kind of problem')
    const { titles, actions, about, ...labels } = t.problemPages
    return view({
      title: titles[kind],
      content: html`<div class="prose"><p>${actions[kind]}</p></div>
<dl><dt>${labels.status}</dt><dd>${PROBLEMS[kind].status}</dd><dt>${labels.kind}</dt><dd><code>${kind}</code></dd></dl>
<p class="quiet">${about}</p>`,
    })
  },
})
