import * as v from 'valibot'
import { fieldsOf } from '#shared/http/form.ts'
import { notFound } from '#shared/base/problem.ts'
import type { Page } from '#web/http/page.ts'
import type { WebState } from '#web/http/request.ts'
import {
  CODE_FIELDS,
  CSRF_FIELD,
  LINK_FIELD,
  ONCE_FIELD,
  PASSKEY_FIELDS,
  PERSON_FIELD,
  SECRET_FIELDS,
} from '#web/view/form.ts'

/** Returns the parsed query of a page, or null if it has none. Throws the 404 of a page. */
export function parseQuery({ query }: Page, state: WebState): unknown {
  if (query === null) return null
  const parsed = v.safeParse(query, fieldsOf(state.query))
  if (!parsed.success) throw notFound('the query does not parse')
  return parsed.output
}

const NOT_TYPED: ReadonlySet<string> = new Set([
  CSRF_FIELD,
  LINK_FIELD,
  PERSON_FIELD,
  ONCE_FIELD,
  ...SECRET_FIELDS,
  ...CODE_FIELDS,
  ...PASSKEY_FIELDS,
])

/** Returns what the form of a page says by field, without secrets and without the fields that bind it. */
export const typedValues = (form: URLSearchParams, { secrets }: Pick<Page, 'secrets'>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fieldsOf(form)).filter(
      (pair): pair is [string, string] =>
        typeof pair[1] === 'string' && !NOT_TYPED.has(pair[0]) && !secrets.includes(pair[0]),
    ),
  )
