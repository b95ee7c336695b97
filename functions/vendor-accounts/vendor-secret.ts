import * as v from 'valibot'
import { hasAtMost, isStorable, text } from '#shared/schema/text.ts'

/** The customer number or user name that a vendor gave to the tenant. */
export const AccountNumber = text({ max: 100, example: '51234' })

/** The secret that a vendor gave to the tenant. It is not trimmed. */
export const VendorSecret = v.pipe(
  v.string('must be a string'),
  v.nonEmpty('must not be empty'),
  v.check(hasAtMost(1000), 'must have at most 1000 characters'),
  v.metadata({ maxLength: 1000 }),
  v.check(isStorable, 'must be text'),
  v.examples(['6f1c2a90-the-api-key-of-the-tenant']),
)
