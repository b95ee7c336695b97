import type { Money } from '#shared/schema/money.ts'

/** A style as its vendor lists it, with its SKUs in the vendor's order. */
export interface VendorStyle {
  readonly styleNumber: string
  readonly name: string
  readonly brand: string
  readonly category: string
  readonly skus: readonly VendorSku[]
}

/** A SKU: one color and size of a style. `price` is an exact decimal as text, or null where the vendor names none. */
export interface VendorSku {
  readonly sku: string
  readonly color: string | null
  readonly size: string | null
  readonly price: Money | null
  readonly currency: string
}

/** The products of a vendor. Each method throws VendorRejected or VendorUnreachable. */
export interface VendorCatalog {
  /** Returns the ids of all products, in the vendor's order. */
  listProducts(): Promise<readonly string[]>
  /** Returns these products, in the order of the ids, without those that the vendor no longer knows. */
  readProducts(ids: readonly string[]): Promise<readonly VendorStyle[]>
  /** How many products one page has. */
  readonly pageSize: number
  /** Closes the connections to the vendor. */
  close(): void
}

/** The vendor refused the credential. */
export class VendorRejected extends Error {
  override name = 'VendorRejected'
}

/** The time limit of one request. */
export const READ_TIMEOUT_MS = 10_000

// As Postgres's numeric(14, 4) stores it, after rounding.
const PRICE = /^\d{1,10}(\.\d{1,20})?$/

/** Returns a price, or null for a text that is none. */
export const priceOf = (text: string | null | undefined): Money | null => {
  const trimmed = text?.trim() ?? ''
  return PRICE.test(trimmed) ? (trimmed as Money) : null
}

// ASCII words with one blank between two of them: most texts need no change.
const PLAIN = /^[!-~]+(?: [!-~]+)*$/

/**
 * Returns a vendor's text as one line of at most `max` characters, or null if nothing is left. Control and format characters,
 * which the database refuses, count as blanks.
 */
export function lineOf(text: string | null | undefined, max: number): string | null {
  if (text && text.length <= max && PLAIN.test(text)) return text
  const line = (text ?? '')
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Z}]+/gu, ' ')
    .trim()
  return line === '' ? null : Array.from(line).slice(0, max).join('').trim()
}
