import * as v from 'valibot'

/** A unit price in a response: an exact decimal with four places, as Postgres writes numeric(14, 4). It is never a number. */
export const UnitPrice = v.pipe(v.string(), v.regex(/^\d{1,10}\.\d{4}$/), v.examples(['12.5000']))
