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

const TIMESTAMP =
  /^(?!0000)(\d{4}-\d\d-\d\d)T((?:[01]\d|2[0-3]):[0-5]\d):([0-5]\d|60)(?:\.(\d+))?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i

/**
 * Returns an RFC 3339 time of the year 1 or later as Postgres takes it: in UTC, with microseconds. Rounds a finer fraction up, so that
 * `>=` and `<` compare as with the exact time. Returns null for any other text, and for a day that does not exist: JavaScript reads
 * 30 February as 2 March.
 */
function toMicroseconds(text: string): string | null {
  const [, day = '', minute, second, fraction = '', zone = ''] = TIMESTAMP.exec(text) ?? []
  if (new Date(`${day}T00:00:00Z`).toJSON()?.slice(0, 10) !== day) return null
  const microseconds = Number(fraction.slice(0, 6).padEnd(6, '0')) + (/[1-9]/.test(fraction.slice(6)) ? 1 : 0)
  // Second 60 is the next minute, and 1,000,000 microseconds are the next second.
  const seconds = Number(second) + Math.floor(microseconds / 1e6)
  const time = new Date(Date.parse(`${day}T${minute}:00${zone.toUpperCase()}`) + seconds * 1000).toISOString()
  // An offset may lead to the year 0, which Postgres does not have, or to 10000, which JavaScript writes as +010000.
  if (time.startsWith('0000')) return '0001-01-01T00:00:00.000000Z'
  return `${time.replace('+0', '').slice(0, -5)}.${String(microseconds % 1e6).padStart(6, '0')}Z`
}

/** An RFC 3339 time. It parses to the form of `toMicroseconds`. */
export const sentTime = (message: string) =>
  v.pipe(
    v.string(),
    v.rawTransform(({ dataset, addIssue, NEVER }): string => {
      const time = toMicroseconds(dataset.value)
      if (time !== null) return time
      addIssue({ message })
      return NEVER
    }),
  )
