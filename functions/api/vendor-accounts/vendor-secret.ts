import * as v from 'valibot'
import { fault } from '#shared/schema/fault.ts'
import { hasAtMost, isStorable, text } from '#shared/schema/text.ts'

/** The customer number or user name that a vendor gave to the tenant. */
export const AccountNumber = text({ max: 100, example: '51234' })

/** The secret that a vendor gave to the tenant. It is not trimmed. */
export const VendorSecret = v.pipe(
  v.string(),
  v.nonEmpty(),
  v.check(hasAtMost(1000), fault({ code: 'too-long', max: 1000 })),
  v.metadata({ maxLength: 1000 }),
  v.check(isStorable, fault({ code: 'not-storable', must: 'be text' })),
  v.examples(['6f1c2a90-the-api-key-of-the-tenant']),
)
