import * as v from 'valibot'
import { isStorable } from '#shared/schema/text.ts'

/** A role as clients name it; whether there is one is for the database to say. */
export const RoleCode = v.pipe(
  v.string('must be a string'),
  v.maxLength(40, 'must be a role'),
  v.check(isStorable, 'must be a role'),
  v.examples(['sales']),
)
