import type { FieldErrorCode } from '#shared/schema/field-error.ts'
import type { ProblemKind, PROBLEMS } from '#shared/base/problem.ts'

/** What people read of each field error of the API. */
export type FieldErrorTexts = Readonly<
  Record<FieldErrorCode, string | ((numbers: { readonly min: number; readonly max: number }) => string)>
>

/** The kinds of problems that show a form again and name no field. The pages send no `Idempotency-Key`. */
export type FormProblem = Exclude<
  {
    [Kind in ProblemKind]: (typeof PROBLEMS)[Kind]['status'] extends 400 | 409 | 412 ? Kind : never
  }[ProblemKind],
  'idempotency-key-reused'
>

/** What people read of a problem that names no field. `other` is for kinds of a later version of the API. */
export type ProblemTexts = Readonly<Record<FormProblem | 'other', string>> & {
  readonly 'rate-limited': (wait: string) => string
  readonly 'vendor-unreachable': string
}
