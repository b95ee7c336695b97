import * as v from 'valibot'

/** A point in time: RFC 3339 in UTC with milliseconds, on the wire and in the service. */
export const Timestamp = v.pipe(v.string(), v.isoTimestamp(), v.examples(['2026-11-02T09:30:00.000Z']))

/**
 * Returns a timestamptz that Postgres wrote, in the form of `Timestamp`: a Date would be parsed and written again for each response,
 * which takes ten times as long. A time that no Date holds, such as `infinity`, stays as it is.
 */
export function timestampText(text: string): string {
  // Postgres omits zeros at the end of a fraction.
  if (text.length > 'YYYY-MM-DD hh:mm:ss.mmm'.length + 2 && text[10] === ' ' && text.endsWith('+00'))
    return `${text.slice(0, 10)}T${text.slice(11, 23)}Z`
  const time = new Date(text)
  return Number.isNaN(time.getTime()) ? text : time.toISOString()
}

/** Returns a timestamptz that Postgres wrote in UTC as text, in the form of a list's key: RFC 3339 with its microseconds. */
export const timestampKey = (text: string): string => text.replace(' ', 'T').replace(/[+-]\d\d$/, '$&:00')

const TIMESTAMP = /^(?!0000)(\d{4}-\d\d-\d\d)T([01]\d|2[0-3])(:[0-5]\d){2}(\.\d{1,6})?(Z|[+-](0\d|1[0-5]):[0-5]\d)$/

/** Returns whether the text is an RFC 3339 time whose day exists. JavaScript reads 30 February as 2 March. */
export function isTimestamp(text: string): boolean {
  const [, day] = TIMESTAMP.exec(text) ?? []
  return day !== undefined && new Date(`${day}T00:00:00Z`).toJSON()?.slice(0, 10) === day
}
