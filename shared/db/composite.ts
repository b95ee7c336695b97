import type { RequestSource } from '#shared/schema/client.ts'

type Field = string | number | boolean | Uint8Array | null

/** Returns a value of a composite type as Postgres writes it. A field in quotes keeps commas, brackets and blanks. */
export const composite = (...fields: readonly Field[]): string =>
  `(${fields.map((field) => (field === null ? '' : `"${textOf(field).replaceAll(/["\\]/g, '\\$&')}"`)).join(',')})`

const textOf = (field: NonNullable<Field>): string =>
  field instanceof Uint8Array ? `\\x${Buffer.from(field).toString('hex')}` : String(field)

/** Returns where a request came from, for a parameter that a statement casts to app.source. */
export const sourceValue = ({ requestId, clientRequestId = null, ipHash = null }: RequestSource): string =>
  composite(requestId, clientRequestId, ipHash)

/** Returns a rate limit, for a parameter that a statement casts to app.limit. */
export const limitValue = (limit: {
  readonly subject: Uint8Array
  readonly limit: number
  readonly windowSeconds: number
}): string => composite(limit.subject, limit.limit, limit.windowSeconds)
