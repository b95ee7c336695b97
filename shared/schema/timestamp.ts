import * as v from 'valibot'

/** A point in time: RFC 3339 in UTC on the wire, a Date in the service. */
export const Timestamp = v.pipe(
  v.string(),
  v.isoTimestamp(),
  v.examples(['2026-11-02T09:30:00.000Z']),
  v.transform((text) => new Date(text)),
)

const TIMESTAMP = /^(?!0000)(\d{4}-\d\d-\d\d)T([01]\d|2[0-3])(:[0-5]\d){2}(\.\d{1,6})?(Z|[+-](0\d|1[0-5]):[0-5]\d)$/

/** Returns whether the text is an RFC 3339 time whose day exists. JavaScript reads 30 February as 2 March. */
export function isTimestamp(text: string): boolean {
  const [, day] = TIMESTAMP.exec(text) ?? []
  return day !== undefined && new Date(`${day}T00:00:00Z`).toJSON()?.slice(0, 10) === day
}
