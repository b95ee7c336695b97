import * as v from 'valibot'
import { fieldsOf } from '#shared/http/form.ts'
import { notFound } from '#shared/base/problem.ts'
import type { Page } from '#web/http/page.ts'
import type { WebState } from '#web/http/request.ts'

/** Returns the parsed query of a page, or null if it has none. Throws the 404 of a page. */
export function parseQuery({ query }: Page, state: WebState): unknown {
  if (query === null) return null
  const parsed = v.safeParse(query, fieldsOf(state.query))
  if (!parsed.success) throw notFound('the query does not parse')
  return parsed.output
}
