import * as v from 'valibot'
import { fault } from '#shared/schema/fault.ts'
import { isStorable } from '#shared/schema/text.ts'

const NOT_A_ROLE = fault({ code: 'not-a-choice', choices: 'a role' })

/** The code of a role, which names it in the API. The handler of a request looks up whether the role exists. */
export const RoleCode = v.pipe(
  v.string(),
  v.maxLength(40, NOT_A_ROLE),
  v.check(isStorable, NOT_A_ROLE),
  v.examples(['sales']),
)
