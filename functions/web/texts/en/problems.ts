import { PROBLEMS, type ProblemKind } from '#shared/base/problem.ts'
import { PROBLEM_ACTIONS } from '#shared/base/problem-actions.ts'

const titles = Object.fromEntries(Object.entries(PROBLEMS).map(([kind, { title }]) => [kind, title])) as Readonly<
  Record<ProblemKind, string>
>

/** The page of a kind of problem. It is for the callers of the API, in the words of the API. */
export const problemPages = {
  titles,
  actions: PROBLEM_ACTIONS,
  status: 'HTTP status',
  kind: 'Type',
  about: 'The API responds with this type of problem (RFC 9457) when it refuses a request.',
}
