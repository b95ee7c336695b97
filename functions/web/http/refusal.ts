import * as v from 'valibot'
import { ProblemError } from '#shared/client/client.ts'
import { faultOf } from '#shared/schema/fault.ts'
import type { FieldError } from '#shared/schema/field-error.ts'
import { typedValues } from '#web/http/form-data.ts'
import { proofOf } from '#web/http/me.ts'
import { isButton, type Page } from '#web/http/page.ts'
import { given, type WebState } from '#web/http/request.ts'
import type { FormProblem } from '#web/texts/refused.ts'
import { TEXTS, type Texts } from '#web/texts/texts.ts'
import { duration } from '#web/view/time.ts'
import { isSame, personField } from '#web/http/csrf.ts'
import { keepTyped } from '#web/http/typed.ts'
import { PERSON_FIELD } from '#web/view/form.ts'
import type { FieldMessage, Refusal, Ui } from '#web/view/ui.ts'

/** A refusal of a form that the page itself decides. `field` null: it concerns the whole form. */
export class FormRefused extends Error {
  override name = 'FormRefused'
  readonly errors: readonly FieldMessage[]
  /** What was done all the same, and the values that the form shows instead of those that were typed. */
  done: readonly string[] = []
  values: Readonly<Record<string, string>> = {}

  constructor(...errors: readonly FieldMessage[]) {
    super('the form was refused')
    this.errors = errors
  }

  /** Says that a part of the form was done. */
  after(done: readonly string[], values: Readonly<Record<string, string>>): this {
    this.done = done
    this.values = values
    return this
  }
}

/** A proof of presence that the API refused. The form asks for another. */
export class ProofRefused extends FormRefused {
  override name = 'ProofRefused'
}

export const fieldMessage = (field: string, text: FieldText): FieldMessage => ({ field, message: textOf({}, text) })

/** The form is ours, but the page was open for too long, or the person signed in again. */
export class OldForm extends Error {
  override name = 'OldForm'
}

/** Returns why an old form is shown again. What somebody else typed is not shown, but kept for them. */
export function oldForm(state: WebState): Refusal {
  const { failures } = TEXTS[state.language]
  const person = state.form?.get(PERSON_FIELD) ?? ''
  const user = state.session?.user
  const isOthers =
    user !== undefined && person !== '' && !isSame(person, personField(given(state.runtime).webKey, user.id))
  if (isOthers) keepTyped(state)
  const old = state.cookies.size === 0 ? withoutCookies(state) : failures.openTooLong
  return {
    status: 422,
    kind: null,
    values: isOthers ? {} : valuesOf(state),
    errors: [{ field: null, message: isOthers ? failures.otherPerson(user.email) : old }],
    retryAfterSeconds: null,
    labels: new Map(),
  }
}

/** What is said to a browser that sent none of our cookies. Over http, which is on this machine, Safari keeps none of them. */
function withoutCookies({ headers, language }: WebState): string {
  const { noCookies, noCookiesOverHttp } = TEXTS[language].failures
  return headers.get('origin')?.startsWith('http:') === true ? `${noCookies} ${noCookiesOverHttp}` : noCookies
}

/** Returns why the form is shown again, or null for an error that is no matter of a form. */
export function refusalOf(error: unknown, state: WebState): Refusal | null {
  const { page } = given(state.matched)
  const texts = TEXTS[state.language]
  const refusal = (
    errors: readonly FieldMessage[],
    status: Refusal['status'] = 422,
    retryAfterSeconds: number | null = null,
  ): Refusal => ({
    status,
    kind: error instanceof ProblemError ? error.kind : error instanceof ProofRefused ? 'step-up-required' : null,
    values: valuesOf(state),
    errors,
    retryAfterSeconds,
    labels: new Map(),
  })
  if (error instanceof FormRefused) {
    const { errors, done, values } = error
    return { ...refusal(errors), done, values: { ...valuesOf(state), ...values } }
  }
  if (!(error instanceof ProblemError)) return null
  const { status, kind, errors, retryAfterSeconds } = error
  if (status === 429) {
    const seconds = retryAfterSeconds ?? 60
    const message = texts.problems['rate-limited'](duration(state.language, seconds))
    return refusal([{ field: null, message }], 429, seconds)
  }
  // A page that only asks for the proof is no error.
  if (kind === 'step-up-required' && state.session !== null)
    return refusal(
      isButton(page) ? [] : [{ field: `proof_${proofOf(state.session)}`, message: texts.secondFactor.confirm }],
    )
  if (kind === 'vendor-unreachable')
    return refusal([{ field: null, message: texts.problems['vendor-unreachable'] }], 503, retryAfterSeconds ?? 60)
  if (![400, 409, 412, 422].includes(status)) return null
  if (errors.length > 0) return refusal(errors.map((invalid) => toMessage(invalid, page, texts)))
  return refusal([
    isFormProblem(kind, texts)
      ? { field: page.fieldOf[kind] ?? null, message: texts.problems[kind] }
      : { field: null, message: texts.problems.other },
  ])
}

/** Returns what is wrong with the fields of a form that did not parse. */
export function invalidForm(issues: readonly v.BaseIssue<unknown>[], state: WebState): FormRefused {
  const { page } = given(state.matched)
  const texts = TEXTS[state.language]
  return new FormRefused(
    ...issues.map((issue) => {
      const { code } = faultOf(issue)
      return toMessage({ pointer: `#/${v.getDotPath(issue) ?? ''}`, code }, page, texts)
    }),
  )
}

/** Returns what is said of a refusal of one of several things that a form asks for, or null if it concerns the whole form. */
export function refusedMessage(error: ProblemError, field: string, { t, language }: Ui): string | null {
  const { status, kind, errors, retryAfterSeconds } = error
  if (status === 429) return t.problems['rate-limited'](duration(language, retryAfterSeconds ?? 60))
  const [first] = errors
  if (first !== undefined) return first.pointer === `#/${field}` ? textOf(first, t.fieldErrors[first.code]) : null
  return status === 409 && isFormProblem(kind, t) ? t.problems[kind] : null
}

// A later version of the API may send other kinds and codes.
const isFormProblem = (kind: string, { problems }: Texts): kind is FormProblem =>
  kind !== 'rate-limited' && Object.hasOwn(problems, kind)

function toMessage(
  { pointer, code, min = 0, max = 0 }: Omit<FieldError, 'detail'>,
  { form, ownTexts }: Page,
  texts: Texts,
): FieldMessage {
  const { fieldErrors } = texts
  const name = pointer.split('/')[1] ?? ''
  const isField = form !== null && 'entries' in form && Object.hasOwn(form.entries as object, name)
  const own = isField ? ownTexts?.(texts)[name]?.[code] : undefined
  const text = own ?? (Object.hasOwn(fieldErrors, code) ? fieldErrors[code] : fieldErrors.invalid)
  return { field: isField ? name : null, message: textOf({ min, max }, text) }
}

type FieldText = Texts['fieldErrors'][keyof Texts['fieldErrors']]

const textOf = ({ min = 0, max = 0 }: { readonly min?: number; readonly max?: number }, text: FieldText): string =>
  typeof text === 'string' ? text : text({ min, max })

const valuesOf = ({ form, matched }: WebState): Record<string, string> =>
  typedValues(form ?? new URLSearchParams(), given(matched).page)
