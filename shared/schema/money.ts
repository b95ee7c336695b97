import * as v from 'valibot'
import { fault } from '#shared/schema/fault.ts'

declare const money: unique symbol

/** An exact decimal as text. It never becomes a number, and only Postgres computes with it: a test checks every use of the type. */
export type Money = string & { readonly [money]: true }

/** Returns the schema, whose output is money. */
const moneyOf = (schema: v.GenericSchema<string>): v.GenericSchema<string, Money> =>
  schema as v.GenericSchema<string, Money>

/** A unit price in a response: an exact decimal with four places, as Postgres writes numeric(14, 4). It is never a number. */
export const UnitPrice = moneyOf(v.pipe(v.string(), v.regex(/^\d{1,10}\.\d{4}$/), v.examples(['12.5000'])))

/**
 * A total in a response: an exact decimal with the decimals of its currency (ISO 4217): none for JPY, two for USD, three for KWD. See
 * app.minor_unit.
 */
export const Total = moneyOf(v.pipe(v.string(), v.regex(/^\d{1,12}(\.\d{2,4})?$/), v.examples(['300.00'])))

/** A unit price in a request. Only Postgres computes with it. */
export const SentPrice = moneyOf(
  v.pipe(
    v.string(),
    v.regex(
      /^\d{1,10}(\.\d{1,4})?$/,
      fault({ code: 'wrong-format', format: 'a decimal number with at most 10 digits and 4 decimal places' }),
    ),
    v.examples(['12.50']),
  ),
)
