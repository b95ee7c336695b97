import * as v from 'valibot'
import { isStorable, text } from '#shared/schema/text.ts'

/** The number, or name, of a shop's account with a vendor. */
export const AccountNumber = text({ max: 100, example: '51234', oneLine: false })

/** A vendor's secret, as the shop was given it: nothing is trimmed. */
export const VendorSecret = v.pipe(
  v.string('must be a string'),
  v.nonEmpty('must not be empty'),
  v.maxLength(1000, 'must have at most 1000 characters'),
  v.check(isStorable, 'must be text'),
  v.examples(['6f1c2a90-the-api-key-of-the-shop']),
)
