import * as v from 'valibot'
import { notFound } from '#shared/problem.ts'
import type { Page } from '#web/page.ts'
import type { WebState } from '#web/request.ts'

/** Returns the fields as an object, with a list for a field that was sent several times. */
export function fieldsOf(sent: URLSearchParams): Record<string, string | string[]> {
  return Object.fromEntries(
    [...new Set(sent.keys())].map((name) => {
      const values = sent.getAll(name)
      return [name, values.length === 1 ? (values[0] ?? '') : values]
    }),
  )
}

/** Returns the parsed query of a page, or null if it has none. Throws the 404 of a page. */
export function parseQuery({ query }: Page, state: WebState): unknown {
  if (query === null) return null
  const parsed = v.safeParse(query, fieldsOf(state.query))
  if (!parsed.success) throw notFound('the query does not parse')
  return parsed.output
}
