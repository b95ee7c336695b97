import * as v from 'valibot'
import { ProblemError } from '#shared/client/client.ts'
import type { FieldError } from '#shared/problem.ts'
import { fieldsOf } from '#shared/http/form.ts'
import type { Page } from '#web/page.ts'
import { given, type WebState } from '#web/request.ts'
import { TEXTS, type Texts } from '#web/texts/texts.ts'
import { CSRF_FIELD } from '#web/view/form.ts'
import { duration } from '#web/view/time.ts'
import type { FieldMessage, Refusal } from '#web/view/ui.ts'

/** A refusal of a form that the page itself decides. `field` null: it concerns the whole form. */
export class FormRefused extends Error {
  override name = 'FormRefused'
  readonly errors: readonly FieldMessage[]

  constructor(...errors: readonly FieldMessage[]) {
    super('the form was refused')
    this.errors = errors
  }
}

/** Returns why the form is shown again, or null for an error that is no matter of a form. */
export function refusalOf(error: unknown, state: WebState): Refusal | null {
  const { page } = given(state.matched)
  const texts = TEXTS[state.language]
  const refusal = (
    errors: readonly FieldMessage[],
    status: 422 | 429 = 422,
    retryAfterSeconds: number | null = null,
  ) => ({
    status,
    values: valuesOf(state),
    errors,
    retryAfterSeconds,
  })
  if (error instanceof FormRefused) return refusal(error.errors)
  if (!(error instanceof ProblemError)) return null
  const { status, kind, errors, retryAfterSeconds } = error
  if (status === 429) {
    const seconds = retryAfterSeconds ?? 60
    const message = texts.problems['rate-limited'](duration(state.language, seconds))
    return refusal([{ field: null, message }], 429, seconds)
  }
  if (![400, 409, 412, 422].includes(status)) return null
  if (errors.length > 0) return refusal(errors.map((invalid) => toMessage(invalid, page, texts)))
  const field = kind === 'about:blank' ? null : (page.fieldOf[kind] ?? null)
  return refusal([{ field, message: problemText(kind, texts) }])
}

/** Returns what is wrong with the fields of a form that did not parse. */
export function invalidForm(issues: readonly v.BaseIssue<unknown>[], state: WebState): FormRefused {
  const { page } = given(state.matched)
  const texts = TEXTS[state.language]
  return new FormRefused(
    ...issues.map((issue) => {
      const detail = issue.received === 'undefined' ? 'is required' : issue.message
      return toMessage({ pointer: `#/${v.getDotPath(issue) ?? ''}`, detail }, page, texts)
    }),
  )
}

function problemText(kind: string, { problems }: Texts): string {
  const text = Object.hasOwn(problems, kind) ? problems[kind as keyof typeof problems] : problems.other
  return typeof text === 'string' ? text : problems.other
}

function toMessage({ pointer, detail }: FieldError, { form }: Page, { refusals }: Texts): FieldMessage {
  const name = pointer.split('/')[1] ?? ''
  const isField = form !== null && 'entries' in form && Object.hasOwn(form.entries as object, name)
  return { field: isField ? name : null, message: messageOf(detail, refusals) }
}

type Message = (texts: Texts['refusals'], count: string) => string

/** What the API says of a field, and what people read instead. */
const MESSAGES: readonly (readonly [RegExp, Message])[] = [
  [/^(is required|must not be empty)$/, (texts) => texts.required],
  [/^must be an email address$/, (texts) => texts.email],
  [/^must have at least (\d+) characters$/, (texts, count) => texts.tooShort(count)],
  [/^must have at most (\d+) characters$/, (texts, count) => texts.tooLong(count)],
  [/^must have a visible character$/, (texts) => texts.noVisibleCharacter],
  [/^must have at least (\d+) characters besides /, (texts, count) => texts.likeKnown(count)],
  [/^is too common$/, (texts) => texts.common],
  [/^is too easy to guess$/, (texts) => texts.guessable],
  [/^is known from a breach$/, (texts) => texts.breached],
  [/^must be a name, /, (texts) => texts.personName],
  [/^must be one line of text$/, (texts) => texts.oneLine],
]

function messageOf(detail: string, texts: Texts['refusals']): string {
  for (const [pattern, message] of MESSAGES) {
    const match = pattern.exec(detail)
    if (match !== null) return message(texts, match[1] ?? '')
  }
  return texts.invalid
}

const valuesOf = ({ form }: WebState): Record<string, string> => {
  const values: Record<string, string> = {}
  for (const [name, value] of Object.entries(fieldsOf(form ?? new URLSearchParams())))
    if (name !== CSRF_FIELD && typeof value === 'string') values[name] = value
  return values
}
