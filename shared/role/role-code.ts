import * as v from 'valibot'
import { isStorable } from '#shared/schema/text.ts'

/** The code of a role, which names it in the API. The handler of a request looks up whether the role exists. */
export const RoleCode = v.pipe(
  v.string('must be a string'),
  v.maxLength(40, 'must be a role'),
  v.check(isStorable, 'must be a role'),
  v.examples(['sales']),
)
